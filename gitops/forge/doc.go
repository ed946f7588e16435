// Package forge speaks to the GitHub API as the signed-in person: who they are, which rules a branch name meets, which
// pull requests a branch has, and the opening and editing of one.
//
// It promises that a call's token goes to the API's own host alone, that every answer is bounded in size, and that each
// kind of "no" (token refused, permission missing, App not installed, single sign-on, archived, limited, invalid) is a
// refusal with its own sentence and way out. A limit is never called a sign-in problem, and a GitHub that cannot be
// reached is a plain error. What may be sent again is sent again within the call's time, git's requests too (Transport).
// Text that GitHub sends is relayed without control characters, cut to a readable length and
// without the token.
//
// It leaves out commits and files, which go through git, waiting for longer than a call, and everything done as the App
// itself.
package forge
