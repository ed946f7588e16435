// Package seal encrypts the Secrets of a change for the age recipients that the repository's own .sops.yaml names.
//
// It promises that no plain value of a Secret leaves it: what it returns is sealed, kept as it stands in the base, or
// refused. Rules are chosen and keys are grouped by sops itself, as the sops command does it: the first matching rule
// of the nearest .sops.yaml, every age recipient, the rule's selectors. Each sealed document is read again before it is
// handed out: every value under data and stringData is encrypted and nothing else is, else the rule is refused. A file
// that would say the same is kept byte for byte, so that a second run changes nothing.
//
// It holds public keys alone: it never decrypts, starts no process and opens no connection. Its one temporary file, of
// mode 0600, is a copy of a .sops.yaml, since sops reads its configuration from a path.
//
// It leaves out pgp, cloud key services and age plugins: such a key beside an age recipient is left out and named in a
// warning, a rule with nothing else is refused. Symbolic links above a file are for the caller to refuse.
package seal
