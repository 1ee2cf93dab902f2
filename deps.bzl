"""The dependencies of Dflat for Swift. It has never been run: see swift/README.md."""

load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")

def dflat_deps():
    """Makes the rules for Swift available, unless the workspace has them."""
    if not native.existing_rule("build_bazel_rules_swift"):
        http_archive(
            name = "build_bazel_rules_swift",
            url = "https://github.com/bazelbuild/rules_swift/releases/download/2.1.1/rules_swift.2.1.1.tar.gz",
        )
