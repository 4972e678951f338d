# What contributors do. Each line calls a script or swift; "make help" lists them.
.PHONY: help build quick test format release package demo bench chaos model fuzz sanitize sizes sql docs

help:      ## list these targets
	@grep -E '^[a-z]+: .*##' Makefile | sed -E 's/^([a-z]+): +## (.*)/  make \1\t\2/' | expand -t 20
build:     ## build everything, with tests
	swift build --build-tests
quick:     ## run before each commit: format, words, import rules, pure tests (2 minutes)
	scripts/test --quick
test:      ## run everything (25 minutes on 2 cores); it is what counts
	scripts/test
format:    ## format all Swift files in place
	swift format --in-place --recursive --parallel Package.swift Plugins Sources Tests Examples
release:   ## build the program as scripts/quickstart does
	swift build -c release --product haul --static-swift-stdlib --no-color-diagnostics
package:   ## build the Debian package in .build/package
	scripts/package
demo:      ## kill a worker in the middle of a file and watch another go on
	scripts/demo
bench:     ## measure small files beside curl; scripts/bench has more
	scripts/bench files
chaos:     ## run a pool under faults for three minutes
	scripts/chaos --minutes 3
model:     ## explore every interleaving of the queue's statements
	scripts/model
fuzz:      ## run libFuzzer on everything that reads other people's bytes
	scripts/fuzz
sanitize:  ## run the library's tests under the sanitizers
	scripts/sanitize
sizes:     ## print the sizes of files, functions and folders
	scripts/sizes
sql:       ## renew docs/sql.md and the golden list of columns
	scripts/with-postgres scripts/sql-reference --write
docs:      ## make the documentation site in .build/docs
	rm -rf .build/docs
	scripts/docs .build/docs
