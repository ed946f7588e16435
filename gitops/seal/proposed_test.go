package seal

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
)

// A re-run before the merge finds its own sealed file on the branch of the open pull request: sealed again it would
// read otherwise, and the pull request would change at every call.
func TestSealedFileOfAnOpenProposalIsKept(t *testing.T) {
	one := identity(t)
	config := rulesOf(only, "age: "+one.Recipient().String())
	first, err := Files(repository(".sops.yaml", config), change(secrets, plain), options())
	if err != nil {
		t.Fatal(err)
	}
	sealed := first.Files[secrets].Content
	branch := fstest.MapFS{secrets: &fstest.MapFile{Data: sealed}}
	opened := 0
	settings := options()
	settings.Proposed = func() (fs.FS, error) { opened++; return branch, nil }

	second, err := Files(repository(".sops.yaml", config), change(secrets, plain), settings)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(second.Files[secrets].Content, sealed) || len(second.Kept) != 1 || opened != 1 {
		t.Errorf("sealed again: kept %q, the branch was opened %d times", second.Kept, opened)
	}

	other := rulesOf(only, "age: "+identity(t).Recipient().String())
	third, err := Files(repository(".sops.yaml", other), change(secrets, plain), settings)
	if err != nil || bytes.Equal(third.Files[secrets].Content, sealed) {
		t.Errorf("a file of other recipients was kept: %v", err)
	}

	base := repository(".sops.yaml", config)
	base[secrets] = &fstest.MapFile{Data: sealed}
	opened = 0
	if _, err := Files(base, change(secrets, plain), settings); err != nil || opened != 0 {
		t.Errorf("the branch was opened %d times though the base has the file: %v", opened, err)
	}

	settings.Proposed = func() (fs.FS, error) { return nil, errors.New("the branch cannot be read") }
	if _, err := Files(repository(".sops.yaml", config), change(secrets, plain), settings); err == nil {
		t.Error("a branch that cannot be read was taken for none")
	}
}
