// Package githubapi judges REST traffic by GitHub's own OpenAPI description: a round tripper that tests put around the
// product's, or around the local forge's answers.
//
// It promises to report every request that the description does not allow (address, method, parameters, body, unknown
// ones too) and every answer that lacks a required field or has one of another type. It changes nothing of what passes
// through, and lets git's own requests pass unread.
//
// It leaves out the description's other hundreds of addresses (what is not in the table of calls is a fault), and what a
// schema says for readers alone. A keyword of a schema that it does not know fails Load, so nothing goes unchecked
// silently. The description is not kept in this repository: the variable [Environment] names its file.
package githubapi
