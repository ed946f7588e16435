package localforge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// gitSettings hold for every git command of the forge, whatever the repository's own configuration says.
var gitSettings = [][2]string{
	{"safe.directory", "*"},
	{"core.fsync", "none"},
	{"core.hooksPath", os.DevNull},
	{"gc.auto", "0"},
	{"http.receivepack", "true"},
	{"receive.autogc", "false"},
	{"receive.fsckObjects", "true"},
	{"uploadpack.allowFilter", "true"},
	{"uploadpack.allowAnySHA1InWant", "true"},
}

// gitEnvironment is the whole environment of a git command: nothing of the machine's or the caller's settings.
func gitEnvironment() []string {
	environment := []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=" + strconv.Itoa(len(gitSettings)),
	}
	for i, setting := range gitSettings {
		environment = append(environment,
			fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, setting[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, setting[1]))
	}
	return environment
}

// repository is a bare repository of the forge.
type repository struct {
	program     string
	owner, name string
	path        string
}

func (r repository) fullName() string { return r.owner + "/" + r.name }

// id is the number that the API gives the repository: the same for the same name.
func (r repository) id() int64 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(r.fullName()))
	return int64(hash.Sum32())
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// repository returns a repository that is there.
func (f *Forge) repository(owner, name string) (repository, bool) {
	repo, err := f.place(owner, name)
	if err != nil {
		return repository{}, false
	}
	information, err := os.Stat(repo.path)
	return repo, err == nil && information.IsDir()
}

// place returns where a repository is, or would be.
func (f *Forge) place(owner, name string) (repository, error) {
	if !namePattern.MatchString(owner) || !namePattern.MatchString(name) || strings.HasSuffix(name, ".git") {
		return repository{}, fmt.Errorf("repository %q: not a name of the form owner/name", owner+"/"+name)
	}
	return repository{program: f.program, owner: owner, name: name,
		path: filepath.Join(f.options.Repositories, owner, name+".git")}, nil
}

// existing returns a repository, or an error that names it.
func (f *Forge) existing(owner, name string) (repository, error) {
	repo, found := f.repository(owner, name)
	if !found {
		return repository{}, fmt.Errorf("repository %s/%s: %w", owner, name, fs.ErrNotExist)
	}
	return repo, nil
}

// run runs one git command in the repository and returns what it prints.
func (r repository) run(ctx context.Context, arguments ...string) (string, error) {
	return r.runWith(ctx, nil, arguments...)
}

func (r repository) runWith(ctx context.Context, environment []string, arguments ...string) (string, error) {
	return r.command(ctx, "", environment, arguments...)
}

// runInput runs one git command that reads a text.
func (r repository) runInput(ctx context.Context, input string, arguments ...string) (string, error) {
	return r.command(ctx, input, nil, arguments...)
}

func (r repository) command(ctx context.Context, input string, environment []string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, r.program, arguments...)
	command.Dir, command.Stdin = r.path, strings.NewReader(input)
	command.Env = append(gitEnvironment(), environment...)
	var errorText bytes.Buffer
	command.Stderr = &errorText
	output, err := command.Output()
	if err != nil {
		return string(output), fmt.Errorf("repository %s: running git %s: %w: %s", r.fullName(), arguments[0], err, bytes.TrimSpace(errorText.Bytes()))
	}
	return string(output), nil
}

// heads returns the commits of the branches of the given names that exist.
func (r repository) heads(ctx context.Context, branches ...string) (map[string]string, error) {
	arguments := []string{"for-each-ref", "--format=%(objectname) %(refname)", "--"}
	for _, branch := range branches {
		if validBranch(branch) {
			arguments = append(arguments, "refs/heads/"+branch)
		}
	}
	heads := map[string]string{}
	if len(arguments) == 3 {
		return heads, nil
	}
	output, err := r.run(ctx, arguments...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(output) {
		sha, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if branch := strings.TrimPrefix(ref, "refs/heads/"); slices.Contains(branches, branch) {
			heads[branch] = sha
		}
	}
	return heads, nil
}

// validBranch keeps out what git would read as something else than a branch's name.
func validBranch(branch string) bool {
	return branch != "" && !strings.HasSuffix(branch, "/") && !strings.ContainsAny(branch, "*?[\\^~: \n") && !strings.Contains(branch, "..")
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

// commit returns the commit that a branch's name or a commit's hash stands for, "" for none.
func (r repository) commit(ctx context.Context, revision string) (string, error) {
	heads, err := r.heads(ctx, revision)
	if err != nil || heads[revision] != "" {
		return heads[revision], err
	}
	if !hashPattern.MatchString(revision) {
		return "", nil
	}
	output, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", nil
	}
	return strings.TrimSpace(output), err
}

// distance counts the commits that base and head each have alone.
func (r repository) distance(ctx context.Context, base, head string) (behind, ahead int, err error) {
	output, err := r.run(ctx, "rev-list", "--count", "--left-right", base+"..."+head)
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscan(output, &behind, &ahead); err != nil {
		return 0, 0, fmt.Errorf("repository %s: reading the distance of two commits: %w", r.fullName(), err)
	}
	return behind, ahead, nil
}

// File returns a file's content at a branch or commit; for a symbolic link the path it points to. An absent one is
// fs.ErrNotExist.
func (f *Forge) File(owner, name, ref, path string) ([]byte, error) {
	repo, err := f.existing(owner, name)
	if err != nil {
		return nil, err
	}
	commit, err := repo.commit(f.context, ref)
	if err != nil {
		return nil, err
	}
	if commit == "" {
		return nil, fmt.Errorf("repository %s: branch or commit %s: %w", repo.fullName(), ref, fs.ErrNotExist)
	}
	output, err := repo.run(f.context, "cat-file", "blob", commit+":"+path)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("repository %s: file %s at %s: %w", repo.fullName(), path, ref, fs.ErrNotExist)
	}
	return []byte(output), err
}

// DeleteBranch deletes a branch. Its open pull request is closed with it.
func (f *Forge) DeleteBranch(owner, name, branch string) error {
	repo, err := f.existing(owner, name)
	if err != nil {
		return err
	}
	heads, err := repo.heads(f.context, branch)
	if err != nil {
		return err
	}
	if heads[branch] == "" {
		return fmt.Errorf("repository %s: branch %s: %w", repo.fullName(), branch, fs.ErrNotExist)
	}
	_, err = repo.run(f.context, "update-ref", "-d", "refs/heads/"+branch, heads[branch])
	return err
}
