#!/bin/sh
# Builds the program from a copy of Dolt's module with cursor.patch, without which Dolt panics when
# it applies 100 scattered edits: build.sh FOLDER. The program is FOLDER/dolt.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")"
go mod download github.com/dolthub/dolt/go
rm -rf "$folder/module"
cp -r "$(go list -m -f '{{.Dir}}' github.com/dolthub/dolt/go)" "$folder/module"
chmod -R u+w "$folder/module"
patch -s -d "$folder/module" -p1 < cursor.patch
cp go.mod "$folder/dolt.mod"
cp go.sum "$folder/dolt.sum"
go mod edit -replace "github.com/dolthub/dolt/go=$folder/module" "$folder/dolt.mod"
go build -modfile "$folder/dolt.mod" -o "$folder/dolt" .
