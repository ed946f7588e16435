package aftermerge

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/forge"
)

const (
	// mostWaiting is how many events wait to be worked on, atOnce how many are at the same time.
	mostWaiting = 64
	atOnce      = 2
	// workTime bounds the work on one event; a tree that does not build in buildTime is not built.
	workTime  = 2 * time.Minute
	buildTime = 30 * time.Second
	// defaultEvery and defaultPatience are how often Flux is looked at after a merge, and for how long. Flux looks at a
	// branch every few minutes at most; who waits longer reads get_change.
	defaultEvery    = 10 * time.Second
	defaultPatience = 15 * time.Minute
	// mostWatched is how many merges are watched at the same time.
	mostWatched = 50
	// lastWords is the time that a stop leaves a comment.
	lastWords = 5 * time.Second
)

// Options are what the work needs.
type Options struct {
	Settings clustermanager.Settings
	App      *forge.App
	// Followers reads what Flux applies, with an account of its own; nil: nothing is watched, so check runs and outcomes
	// are left out.
	Followers func(ctx context.Context) ([]clustermanager.Follower, error)
	// Diff compares two built trees, by paths alone.
	Diff func(before, after []*unstructured.Unstructured) []clustermanager.ObjectDiff
	// Transport carries git's and GitHub's requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Every and Patience say how Flux is looked at after a merge; zero: the defaults.
	Every, Patience time.Duration
	Log             *slog.Logger
}

// Worker works on events. It is safe for concurrent use.
type Worker struct {
	options Options
	// context is that of all work; watching ends the watching of merges before it.
	context, watching context.Context
	stop, endWatching context.CancelFunc
	queue             chan job
	working, watched  sync.WaitGroup
	slots             chan struct{}

	mutex  sync.Mutex
	closed bool
}

type job struct {
	event    forge.Event
	finished func(done bool)
}

// New starts a worker; the context ends it at once, Close in order.
func New(ctx context.Context, options Options) *Worker {
	if options.Every == 0 {
		options.Every = defaultEvery
	}
	if options.Patience == 0 {
		options.Patience = defaultPatience
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	w := &Worker{options: options, queue: make(chan job, mostWaiting), slots: make(chan struct{}, mostWatched)}
	w.context, w.stop = context.WithCancel(ctx)
	w.watching, w.endWatching = context.WithCancel(w.context)
	for range atOnce {
		w.working.Go(func() {
			for of := range w.queue {
				of.finished(w.work(of.event))
			}
		})
	}
	return w
}

// Take queues an event. ErrBusy of gitops/forge: the queue is full, or the worker is closed.
func (w *Worker) Take(event forge.Event, finished func(done bool)) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.closed {
		return forge.ErrBusy
	}
	select {
	case w.queue <- job{event, finished}:
		return nil
	default:
		return forge.ErrBusy
	}
}

// Close takes nothing more, works off the queue, and ends the watching of merges, whose comments say so. It returns
// when all is done, or when the context ends, which cuts the rest off.
func (w *Worker) Close(ctx context.Context) {
	w.mutex.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mutex.Unlock()
	done := make(chan struct{})
	go func() {
		w.working.Wait()
		w.endWatching()
		w.watched.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	w.stop()
	<-done
}

// work does what an event asks for, and says whether that is done.
func (w *Worker) work(event forge.Event) bool {
	ctx, cancel := context.WithTimeout(w.context, workTime)
	defer cancel()
	log := w.options.Log.With("repository", event.Owner+"/"+event.Name, "event", event.Kind, "action", event.Action, "number", event.Number, "delivery", event.Delivery)
	in, err := w.open(ctx, event)
	if err == nil {
		err = in.do(ctx, event)
	}
	if err != nil {
		log.WarnContext(ctx, "webhook: the work on a delivery failed: redeliver it to have it done", "error", err.Error())
		return false
	}
	log.DebugContext(ctx, "webhook: done")
	return true
}

// repository is one repository, as the App's installation reaches it.
type repository struct {
	*Worker
	of     clustermanager.GitRepository
	event  forge.Event
	token  clustermanager.Secret
	client *forge.Client
	prefix string
}

// open makes the clients of an event's repository. A host that the settings do not name is refused: the App's signature
// is for those alone.
func (w *Worker) open(ctx context.Context, event forge.Event) (*repository, error) {
	settings := w.options.Settings
	api, known := settings.GitHosts[event.Host]
	if !known {
		return nil, clustermanager.Refuse("repository %s/%s: its host %s is none of the setting git-hosts", event.Owner, event.Name, event.Host)
	}
	in := &repository{Worker: w, event: event, prefix: gitops.BranchName(settings.BranchPrefix, settings.Installation, ""), of: clustermanager.GitRepository{
		Host: event.Host, Owner: event.Owner, Name: event.Name, CloneURL: event.CloneURL, APIURL: api,
	}}
	return in, in.renew(ctx)
}

// renew gets the clients with a token that lasts: a merge may be watched for longer than one does.
func (r *repository) renew(ctx context.Context) (err error) {
	if r.token, err = r.options.App.Token(ctx, r.of.APIURL, r.event.Installation, r.event.ID); err != nil {
		return err
	}
	r.client, err = forge.New(forge.Options{
		APIURL: r.of.APIURL, Owner: r.of.Owner, Repository: r.of.Name, Token: r.token, Transport: forge.Transport(r.options.Transport),
	})
	return err
}

func (r *repository) do(ctx context.Context, event forge.Event) error {
	switch {
	case event.Kind == forge.EventPush && strings.HasPrefix(event.Branch, r.prefix):
		// A push to a branch of ours comes as an event of its pull request too.
		return nil
	case event.Kind == forge.EventPush:
		return r.baseMoved(ctx, event.Branch)
	case event.Action == "closed":
		return r.closed(ctx, event.Number)
	case event.Action == "opened", event.Action == "reopened", event.Action == "synchronize", event.Action == "edited":
		return r.changed(ctx, event.Number)
	}
	return nil
}

// ours is a pull request of ours, with what it is about.
type ours struct {
	pull    clustermanager.PullRequestDetail
	subject gitops.Subject
	commits []clustermanager.BranchCommit
}

// read reads a pull request; nil: it is none of ours.
func (r *repository) read(ctx context.Context, number int) (*ours, error) {
	pull, err := r.client.Change(ctx, number)
	if err != nil {
		return nil, err
	}
	return r.recognize(ctx, pull)
}

func (r *repository) recognize(ctx context.Context, pull clustermanager.PullRequestDetail) (*ours, error) {
	if pull.Fork || !strings.HasPrefix(pull.Branch, r.prefix) {
		return nil, nil
	}
	made := &ours{pull: pull}
	var err error
	if made.commits, err = r.client.CommitsOf(ctx, pull.Number); err != nil {
		return nil, err
	}
	found := false
	for _, commit := range made.commits {
		if subject, is := gitops.ReadSubject(commit.Message, r.options.Settings.Installation); is {
			made.subject, found = subject, true
		}
	}
	if !found {
		return nil, nil
	}
	return made, nil
}
