// Package release works out what a release is called, and what its notes say, from the commits since the last one.
//
// It promises pure functions of commits and tags: the same history is the same release. What counts is
// [Conventional Commits 1.0.0]; the table of types is in kinds. A commit that is not of that form is no part of a release.
//
// It leaves out reading git, building and publishing, which the command below it and the Makefile do.
//
// [Conventional Commits 1.0.0]: https://www.conventionalcommits.org/en/v1.0.0/
package release
