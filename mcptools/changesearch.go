package mcptools

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/forge"
)

const (
	// atOnce is how many requests of a call the host gets at the same time.
	atOnce = 8
	// mostBranches is how many branches of ours one call asks for their open pull request, mostPages how many pages of
	// a hundred it looks through for the others. What is beyond comes with the cursor.
	mostBranches = 100
	mostPages    = 5
)

// changeSearch looks for changes in repositories, one after the other, until it has as many as were asked for.
type changeSearch struct {
	*changeReader
	request   listChangesRequest
	remaining []clustermanager.GitRepository
	limit     int
	// prefix is what the branches of the installation begin with.
	prefix string
	// position is where the first repository goes on; "": at its start.
	position string
	branches int
	pages    int
}

// search prepares a request: which repositories, and from where on.
func (c *changeReader) search(request listChangesRequest) (*changeSearch, error) {
	settings := c.tools.options.Settings
	s := &changeSearch{changeReader: c, request: request, limit: min(request.Limit, mostChanges), prefix: gitops.BranchName(settings.BranchPrefix, settings.Installation, "")}
	if request.Limit == 0 {
		s.limit = defaultChanges
	}
	if s.request.State == "" {
		s.request.State = string(clustermanager.PullRequestOpen)
	}
	var err error
	if s.remaining, err = c.repositoriesOf(request); err != nil || request.Cursor == "" {
		return s, err
	}
	text, err := base64.RawURLEncoding.DecodeString(request.Cursor)
	repository, position, is := strings.Cut(string(text), "\n")
	for len(s.remaining) > 0 && !strings.EqualFold(s.remaining[0].FullName(), repository) {
		s.remaining = s.remaining[1:]
	}
	if err != nil || !is || len(s.remaining) == 0 {
		return nil, &clustermanager.InvalidArguments{
			Message: "list_changes: argument cursor is " + short(request.Cursor) + ", which no answer to these arguments gave: leave it out for the first page",
		}
	}
	s.position = position
	return s, nil
}

// repositoriesOf are where changes of a request are: in the named repository, else in the cluster's, else in all. A
// cluster that is not there yet, or whose repository cannot be told, may have changes in each.
func (c *changeReader) repositoriesOf(request listChangesRequest) ([]clustermanager.GitRepository, error) {
	if request.Repository != "" {
		named, err := c.named(request.Repository)
		return []clustermanager.GitRepository{named}, err
	}
	if request.Cluster == "" {
		return c.repositories(), nil
	}
	cluster, err := c.reader.FindCluster(c.context, request.Namespace, request.Cluster)
	if clustermanager.ReasonOf(err) == clustermanager.ReasonRefused {
		return nil, err
	}
	if err == nil {
		if target, err := c.reader.Target(c.context, cluster); err == nil {
			return []clustermanager.GitRepository{target.Repository}, nil
		}
	}
	return c.repositories(), nil
}

// run returns the changes that were found, and the cursor of what follows them. A repository that cannot be read costs
// the others nothing, but one that was asked for by itself fails the call.
func (s *changeSearch) run(ctx context.Context) (found []foundChange, cursor string, err error) {
	for _, repository := range s.remaining {
		of := &repositorySearch{changeSearch: s, repository: repository}
		if of.client, err = s.client(repository); err == nil {
			of.found = found
			err = of.look(ctx, s.position)
			found = of.found
		}
		s.position = ""
		switch {
		case err != nil && len(s.remaining) == 1 && len(found) == 0, ctx.Err() != nil:
			return nil, "", err
		case err != nil:
			s.note("%s", err)
		case of.next != "":
			return found, base64.RawURLEncoding.EncodeToString([]byte(repository.FullName() + "\n" + of.next)), nil
		}
	}
	return found, "", nil
}

// repositorySearch looks through one repository.
type repositorySearch struct {
	*changeSearch
	repository clustermanager.GitRepository
	client     *forge.Client
	found      []foundChange
	// next is where another call goes on; "": nothing is left.
	next string
}

func (s *repositorySearch) look(ctx context.Context, from string) error {
	if s.request.State == string(clustermanager.PullRequestOpen) {
		return s.lookOpen(ctx, from)
	}
	return s.lookNewest(ctx, from)
}

// lookOpen asks for the open pull request of each branch of ours after a name.
func (s *repositorySearch) lookOpen(ctx context.Context, after string) error {
	branches, err := s.client.Branches(ctx, s.prefix)
	if err != nil {
		return err
	}
	var left []string
	for _, branch := range branches {
		if branch > after && s.mayBe(branch) {
			left = append(left, branch)
		}
	}
	for len(left) > 0 {
		if len(s.found) >= s.limit || s.branches >= mostBranches {
			s.next = after
			return nil
		}
		some := left[:min(atOnce, len(left), s.limit-len(s.found))]
		candidates, err := eachOf(ctx, some, s.client.OpenOf)
		if err != nil {
			return err
		}
		if err := s.take(ctx, slices.Concat(candidates...)); err != nil {
			return err
		}
		left, after, s.branches = left[len(some):], some[len(some)-1], s.branches+len(some)
	}
	return nil
}

// eachOf does something with all of a few at the same time.
func eachOf[From, To any](ctx context.Context, few []From, do func(context.Context, From) (To, error)) ([]To, error) {
	made := make([]To, len(few))
	reads, readContext := errgroup.WithContext(ctx)
	for i, one := range few {
		reads.Go(func() (err error) {
			made[i], err = do(readContext, one)
			return err
		})
	}
	return made, reads.Wait()
}

// lookNewest looks through the newest pull requests, below the number where the answer before ended. A page may show
// again what a new pull request moved there, so the number counts, and the page is where to look.
func (s *repositorySearch) lookNewest(ctx context.Context, from string) error {
	page, below, err := pageOf(from)
	if err != nil {
		return err
	}
	for ; s.pages < mostPages; page++ {
		s.pages++
		pulls, more, err := s.client.Newest(ctx, s.request.State != everyState, page)
		if err != nil {
			return err
		}
		candidates := slices.DeleteFunc(slices.Clone(pulls), func(pull clustermanager.PullRequestDetail) bool {
			return below > 0 && pull.Number >= below || !s.inState(pull) || !s.mayBe(pull.Branch) || pull.Fork
		})
		for len(candidates) > 0 {
			if len(s.found) >= s.limit {
				s.next = fmt.Sprintf("%d:%d", page, below)
				return nil
			}
			some := candidates[:min(atOnce, len(candidates), s.limit-len(s.found))]
			if err := s.take(ctx, some); err != nil {
				return err
			}
			candidates, below = candidates[len(some):], some[len(some)-1].Number
		}
		if !more {
			return nil
		}
	}
	s.next = fmt.Sprintf("%d:%d", page, below)
	s.note("%s: %d pull requests were looked through, the newest first, and not all: the cursor goes on", s.repository.FullName(), mostPages*100)
	return nil
}

// pageOf reads where lookNewest goes on: the page, and below which number; 0: below any.
func pageOf(position string) (page, below int, err error) {
	if position == "" {
		return 1, 0, nil
	}
	first, second, _ := strings.Cut(position, ":")
	page, err = strconv.Atoi(first)
	if err == nil {
		below, err = strconv.Atoi(second)
	}
	if err != nil || page < 1 || below < 0 {
		return 0, 0, &clustermanager.InvalidArguments{Message: "list_changes: argument cursor is of another state: leave it out for the first page"}
	}
	return page, below, nil
}

func (s *repositorySearch) inState(pull clustermanager.PullRequestDetail) bool {
	return s.request.State == everyState || s.request.State == string(pull.State)
}

// mayBe says whether a branch may be of what is looked for: branches name the cluster, and its trailer decides.
func (s *repositorySearch) mayBe(branch string) bool {
	name, is := strings.CutPrefix(branch, s.prefix)
	of := "-" + s.request.Cluster
	return is && (s.request.Cluster == "" || strings.HasSuffix(name, of) || strings.Contains(name, of+"-"))
}

// take keeps those of a few pull requests that are ours, and the cluster's.
func (s *repositorySearch) take(ctx context.Context, pulls []clustermanager.PullRequestDetail) error {
	made, err := eachOf(ctx, pulls, func(ctx context.Context, pull clustermanager.PullRequestDetail) (foundChange, error) {
		of := foundChange{repository: s.repository, client: s.client, pull: pull}
		ours, err := of.readSubject(ctx, s.tools.options.Settings.Installation)
		of.ours = ours && (s.request.Cluster == "" || s.request.Cluster == of.subject.Cluster)
		return of, err
	})
	if err != nil {
		return err
	}
	s.found = append(s.found, slices.DeleteFunc(made, func(of foundChange) bool { return !of.ours })...)
	return nil
}
