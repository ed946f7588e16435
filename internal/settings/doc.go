// Package settings is the one table of what a server can be told: each setting's name, which is its flag and its key in a
// file, its environment variable, its form, its default, and where its value goes.
//
// It promises that a value comes from the first source that gives one (flag, environment, file, default), that an empty
// variable is none, that every fault of every source is in one message, and that a setting of what this build does not have
// is refused by its name, never taken and forgotten.
//
// It leaves out how flags are parsed, which is the command line's, and what a value means to who uses it.
package settings
