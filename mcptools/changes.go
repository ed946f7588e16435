package mcptools

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/forge"
	"github.com/clustermanager/cluster-manager/live/survey"
)

// ProposedChange is a pull request of ours. A part that could not be read is left out, and a note says so.
type ProposedChange struct {
	Repository string `json:"repository"`
	Number     int    `json:"number"`
	URL        string `json:"url"`
	Title      string `json:"title"`
	Branch     string `json:"branch"`
	// Tool is what was called, for the cluster and pool of the installation, as the commit's trailer says.
	Tool         string                          `json:"tool"`
	Installation string                          `json:"installation"`
	Cluster      string                          `json:"cluster"`
	Pool         string                          `json:"pool,omitempty"`
	State        clustermanager.PullRequestState `json:"state"`
	Author       string                          `json:"author"`
	CreatedAt    time.Time                       `json:"createdAt"`
	UpdatedAt    time.Time                       `json:"updatedAt"`
	// Checks are those of an open one.
	Checks  *ChangeChecks `json:"checks,omitempty"`
	Merged  *ChangeMerge  `json:"merged,omitempty"`
	Applied *ChangeApply  `json:"applied,omitempty"`
	// Phase is the pool's; left out where there is no such pool.
	Phase clustermanager.Phase `json:"phase,omitempty"`
	// LiveSteps are what the merge does not do: before Flux has applied it in words, then object by object.
	LiveSteps []string `json:"liveSteps,omitzero"`
	Notes     []string `json:"notes,omitempty"`
}

// ChangeChecks are the checks of a pull request's head.
type ChangeChecks struct {
	State clustermanager.ChecksState `json:"state"`
	// Note names the checks that failed or are not over.
	Note string `json:"note,omitempty"`
}

// ChangeMerge is the commit that brought a change into the base.
type ChangeMerge struct {
	SHA string    `json:"sha"`
	At  time.Time `json:"at"`
}

// ChangeApply says that Flux has applied a change.
type ChangeApply struct {
	// Kustomization is namespace/name of the one that applies the change's files.
	Kustomization string `json:"kustomization"`
	// Revision is the commit that it applied last, which holds the merge; At since when it is ready.
	Revision string     `json:"revision"`
	At       *time.Time `json:"at,omitempty"`
}

// foundChange is a change on its way into an answer.
type foundChange struct {
	repository clustermanager.GitRepository
	client     *forge.Client
	pull       clustermanager.PullRequestDetail
	subject    gitops.Subject
	// ours says that it is what is looked for.
	ours bool
	// others is how many commits of the branch carry no trailer.
	others int
}

// readSubject reads what the change is about, off its newest commit with a trailer of the installation; false: none has
// one.
func (f *foundChange) readSubject(ctx context.Context, installation string) (bool, error) {
	commits, err := f.client.CommitsOf(ctx, f.pull.Number)
	if err != nil {
		return false, err
	}
	ours := 0
	for _, commit := range commits {
		if subject, is := gitops.ReadSubject(commit.Message, installation); is {
			f.subject, ours = subject, ours+1
		}
	}
	f.others = len(commits) - ours
	return ours > 0, nil
}

// changeReader reads pull requests as the caller of one call.
type changeReader struct {
	// context is bounded by the call's time.
	context   context.Context
	tools     *Tools
	call      Call
	reader    *survey.Reader
	followers []clustermanager.Follower
	notes     []string
}

// readChanges begins a call that reads changes: the caller's GitHub side must be there, as for mode commit.
func (t *Tools) readChanges(ctx context.Context, call Call) (*changeReader, context.CancelFunc, error) {
	ctx, end, err := t.begin(ctx, call, clustermanager.ModeCommit)
	if err != nil {
		return nil, nil, err
	}
	made := &changeReader{context: ctx, tools: t, call: call}
	call.Progress(stepSurvey)
	if made.reader, err = t.reader(call); err == nil {
		made.followers, made.notes, err = made.reader.Followers(ctx)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return made, end, nil
}

// repositories are those that a Kustomization follows, each once, in the order of their names.
func (c *changeReader) repositories() []clustermanager.GitRepository {
	var found []clustermanager.GitRepository
	for _, follower := range c.followers {
		found = append(found, follower.Repository)
	}
	name := func(of clustermanager.GitRepository) string { return strings.ToLower(of.FullName()) }
	slices.SortFunc(found, func(a, b clustermanager.GitRepository) int { return strings.Compare(name(a), name(b)) })
	return slices.CompactFunc(found, func(a, b clustermanager.GitRepository) bool { return name(a) == name(b) })
}

// named is the repository of a name. What no Kustomization follows is refused: the caller's token is for no other.
func (c *changeReader) named(fullName string) (clustermanager.GitRepository, error) {
	for _, repository := range c.repositories() {
		if strings.EqualFold(repository.FullName(), fullName) {
			return repository, nil
		}
	}
	return clustermanager.GitRepository{}, clustermanager.Refuse("repository %s: no Flux Kustomization that you may list follows it, so no change there is this installation's: list_clusters names the clusters' repositories (commitTarget)%s", short(fullName), noted(c.notes))
}

func noted(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

func (c *changeReader) client(repository clustermanager.GitRepository) (*forge.Client, error) {
	return forge.New(forge.Options{
		APIURL: repository.APIURL, Owner: repository.Owner, Repository: repository.Name,
		Token: c.call.Caller.GitHub.Token, Transport: forge.Transport(c.tools.options.Transport),
	})
}

func (c *changeReader) note(format string, arguments ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, arguments...))
}

// changeName is a pull request as its host writes it.
func changeName(repository string, number int) string { return repository + "#" + strconv.Itoa(number) }
