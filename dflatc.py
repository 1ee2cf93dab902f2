#!/usr/bin/env python3
"""Compiles FlatBuffers schemas to Swift, with the arguments of the script of Dflat for Swift.

It runs the program dflatc: the one that the variable DFLATC names, or else the one in the PATH.
"""

import argparse
import os
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    compile_ = commands.add_parser("compile", help="write four Swift files for each schema")
    compile_.add_argument("-o", dest="output", required=True, help="the folder of the files")
    compile_.add_argument("-I", dest="include", action="append", default=[], help="a folder of includes")
    compile_.add_argument("--keep-json", action="store_true", help="accepted, and without effect")
    compile_.add_argument("files", nargs="+")
    commands.add_parser("graphql", help="not available")
    arguments, others = parser.parse_known_args()
    if arguments.command == "graphql":
        print("dflatc.py: graphql is not available: docs/swift-moving.md says why", file=sys.stderr)
        return 2
    if others:
        parser.error("unknown arguments: " + " ".join(others))
    line = [os.environ.get("DFLATC", "dflatc"), "compile", "--swift", "-o", arguments.output]
    for folder in arguments.include:
        line += ["-I", folder]
    try:
        return subprocess.run(line + arguments.files).returncode
    except FileNotFoundError:
        print(f"dflatc.py: there is no program {line[0]}: cargo install dflatc", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
