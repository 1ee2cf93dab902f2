"""Finds posts by a condition, changes one, and follows a live query, by `ctypes` alone.

Usage: DFLAT_LIBRARY=target/release/libdflat_capi.so posts.py FILE [CONDITION]
The tour makes such a file: cargo run -p post -- posts.db
"""
import ctypes as c
import json
import os
import queue
import sys

lib = c.CDLL(os.environ["DFLAT_LIBRARY"])


def structure(name, **fields):
    return type(name, (c.Structure,), {"_fields_": list(fields.items())})


Bytes = structure("Bytes", data=c.c_void_p, length=c.c_size_t)
Object = structure("Object", chunk=c.c_void_p, span=c.c_uint64)
View = structure("View", payload=c.c_void_p, length=c.c_size_t, row_id=c.c_int64, object=Object)
Source = structure("Source", workspace=c.c_void_p, snapshot=c.c_void_p, transaction=c.c_void_p)
Callback = structure("Callback", context=c.c_void_p, call=c.c_void_p, drop=c.c_void_p)
Handler = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_void_p, c.c_void_p)
OnResult = c.CFUNCTYPE(None, c.c_void_p, c.c_int32, c.c_void_p, c.c_void_p)


def text(content):
    made = Bytes(length=len(content.encode()))
    made.kept = c.create_string_buffer(content.encode())
    made.data = c.addressof(made.kept)
    return made


def call(name, *arguments):
    error, message = c.c_void_p(), Bytes()
    if lib[name](*arguments, c.byref(error)) != 0:
        lib.dflat_error_message(error, c.byref(message))
        found = c.string_at(message.data, message.length).decode()
        lib.dflat_error_release(error)
        raise RuntimeError(found)


def make(name, *arguments):
    handle = c.c_void_p()
    call(name, *arguments, c.byref(handle))
    return handle


def values(table, result):
    """The objects of a result as dictionaries, each with its view."""
    views, count = c.POINTER(View)(), c.c_size_t()
    call("dflat_result_views", result, c.byref(views), c.byref(count))
    for view in views[: count.value]:
        buffer, content = make("dflat_json_write", table, Bytes(view.payload, view.length)), Bytes()
        lib.dflat_buffer_bytes(buffer, c.byref(content))
        yield json.loads(c.string_at(content.data, content.length)), view
        lib.dflat_buffer_release(buffer)


workspace = make("dflat_workspace_open", text(sys.argv[1]), None)
posts = make("dflat_workspace_table", workspace, text("post"))
condition = text(sys.argv[2] if len(sys.argv) > 2 else "priority > 100")
urgent = make("dflat_query_parse", posts, condition, text("priority desc"), None, c.c_size_t(0))

deliveries = queue.Queue()


@OnResult
def on_result(_context, _code, _error, delivery):
    result = make("dflat_delivery_result", c.c_void_p(delivery))
    deliveries.put([post["title"] for post, _view in values(posts, result)])
    lib.dflat_result_release(result)


callback = Callback(call=c.cast(on_result, c.c_void_p))
live = make("dflat_subscribe_query", workspace, urgent, None, c.c_uint32(0), callback)
print("urgent:", first := deliveries.get())


@Handler
def lower_first(_context, transaction, error):
    result = make("dflat_fetch", Source(transaction=transaction), urgent)
    post, view = next(values(posts, result))
    payload, content = make("dflat_json_read", posts, text(json.dumps(post | {"priority": 1}))), Bytes()
    lib.dflat_buffer_bytes(payload, c.byref(content))
    code = lib.dflat_transaction_submit(c.c_void_p(transaction), posts, 2, c.c_uint32(0),
                                        view.object, content, None, None, c.c_void_p(error))
    lib.dflat_buffer_release(payload)
    lib.dflat_result_release(result)
    return code


handler = Callback(call=c.cast(lower_first, c.c_void_p))
if first:
    call("dflat_perform_and_wait", workspace, c.byref(posts), c.c_size_t(1), c.c_uint32(0), handler)
    print("urgent:", deliveries.get())
lib.dflat_subscription_release(live)
lib.dflat_workspace_release(workspace)
