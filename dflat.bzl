"""The rule of Dflat for Swift that compiles schemas. It has never been run: see swift/README.md."""

_SUFFIXES = [
    "_generated.swift",
    "_data_model_generated.swift",
    "_mutating_generated.swift",
    "_query_generated.swift",
]

def dflatc(name, srcs, includes = [], **kwargs):
    """Compiles each schema to four Swift files.

    Args:
      name: the name of the group of all files.
      srcs: the schemas.
      includes: schemas that they include.
      **kwargs: passed to the filegroup.
    """
    outs = []
    for src in srcs:
        stem = src.split("/")[-1].split(":")[-1]
        if stem.endswith(".fbs"):
            stem = stem[:-len(".fbs")]
        files = [stem + suffix for suffix in _SUFFIXES]
        outs += files
        folders = " ".join(["-I $$(dirname $(location %s))" % include for include in includes])
        native.genrule(
            name = name + "_" + stem,
            srcs = [src] + includes,
            outs = files,
            cmd = "$${DFLATC:-dflatc} compile --swift -o $(RULEDIR) %s $(location %s)" % (folders, src),
        )
    native.filegroup(name = name, srcs = outs, **kwargs)
