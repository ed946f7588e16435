// Package identity is the server's side of signing in: an OAuth 2.0 protected resource that has no authorization server of
// its own. It takes a request's bearer for a person, or refuses the request.
//
// The bearer is an id_token of the one issuer that the server trusts, for one of its audiences. With the GitHub pairing the
// bearer is the caller's user token of a GitHub App instead, and the id_token comes in the header [IDTokenHeader].
//
// It promises that nothing behind [Verifier.Protect] runs without a [clustermanager.Caller] whose id_token's signature,
// issuer, audience and times hold; that a refusal is a challenge by which a client finds out where to sign in (RFC 6750, RFC
// 9728); that keys are read anew when the issuer changes them, yet no more often than strangers' tokens can make it; that
// GitHub out of reach takes mode commit from a call and nothing else; and that no token is in a log, an error or an answer.
//
// It leaves out what a person may do, which the API servers and GitHub say, and sessions: each request is judged by itself.
package identity
