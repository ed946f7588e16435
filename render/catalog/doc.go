// Package catalog holds the tables that composition looks things up in: accelerators with their instance sizes, list
// prices of instances and of cache volumes, and what each version of the charts of node pool, GPU operator and serving
// slice brings.
//
// The tables are data files in data/, embedded in the binary. Nothing here asks a live API. What the package promises:
// sizes come in the order of the family, smallest first; a price is the one of the region asked for, or a note says why
// there is none; a caller may change what it gets, since every answer is a copy.
//
// It leaves out every decision: whether a pool may be composed, and how, is for package compose.
package catalog
