package mcptools

import (
	"cmp"
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// confirmWithin is how long an answer to a question is taken.
	confirmWithin = 10 * time.Minute
	// namedInQuestion is how many objects a question names.
	namedInQuestion = 20
)

// reply is what a client that was asked sends with the call.
type reply struct {
	state    string
	accepted bool
}

// question is what a client is asked, with the state that it sends back.
type question struct{ text, state string }

// sealer seals the state of a question, so that a reply counts for the tool, the caller and the arguments that were
// asked about, and not for long. Its key is drawn from the caller's own token, by which another replica knows its
// state again; where the caller has none, the process's own.
type sealer struct {
	process []byte
	now     func() time.Time
}

func newSealer() sealer {
	process := make([]byte, sha256.Size)
	// Read of crypto/rand never fails.
	_, _ = rand.Read(process)
	return sealer{process: process, now: time.Now}
}

// sealed is the plain part of a state.
type sealed struct {
	Tool      string    `json:"tool"`
	Caller    string    `json:"caller"`
	Arguments []byte    `json:"arguments"`
	Expires   time.Time `json:"expires"`
}

// seal makes the state of a question about a call.
func (s sealer) seal(tool string, caller clustermanager.Caller, arguments map[string]any) string {
	// What was decoded from JSON encodes again.
	plain, _ := json.Marshal(sealed{tool, nameOf(caller), digest(arguments), s.now().Add(confirmWithin).UTC()})
	encode := base64.RawURLEncoding.EncodeToString
	return encode(plain) + "." + encode(s.code(caller, plain))
}

// holds says whether a state is one of a question about this very call that has not expired.
func (s sealer) holds(state, tool string, caller clustermanager.Caller, arguments map[string]any) bool {
	encodedPlain, encodedCode, _ := strings.Cut(state, ".")
	plain, plainErr := base64.RawURLEncoding.DecodeString(encodedPlain)
	code, codeErr := base64.RawURLEncoding.DecodeString(encodedCode)
	var asked sealed
	if plainErr != nil || codeErr != nil || !hmac.Equal(code, s.code(caller, plain)) || json.Unmarshal(plain, &asked) != nil {
		return false
	}
	return asked.Tool == tool && asked.Caller == nameOf(caller) && hmac.Equal(asked.Arguments, digest(arguments)) && s.now().Before(asked.Expires)
}

func (s sealer) code(caller clustermanager.Caller, plain []byte) []byte {
	secret := s.process
	if token := caller.KubernetesToken.Reveal(); token != "" {
		secret = []byte(token)
	}
	// The length is one that the hash has.
	key, _ := hkdf.Key(sha256.New, secret, nil, "cluster-manager confirmation", sha256.Size)
	code := hmac.New(sha256.New, key)
	code.Write(plain)
	return code.Sum(nil)
}

func nameOf(caller clustermanager.Caller) string { return cmp.Or(caller.Subject, caller.Email) }

// digest stands for the arguments, whatever order they came in.
func digest(arguments map[string]any) []byte {
	text, _ := json.Marshal(arguments)
	sum := sha256.Sum256(text)
	return sum[:]
}

// ask says what has to be asked before a call is done, with what it would remove; nil: nothing. A result is the call's
// answer already: it is refused, or was declined.
func (t *Tools) ask(ctx context.Context, tool Tool, raw json.RawMessage, replied *reply) (*question, *Result) {
	var arguments map[string]any
	if tool.Kind != Removing || json.Unmarshal(raw, &arguments) != nil || arguments["dryRun"] == true || arguments["mode"] == string(clustermanager.ModeCommit) {
		// A pull request is its own question.
		return nil, nil
	}
	caller, err := t.options.Caller(ctx)
	if err != nil {
		return nil, new(resultOf(nil, err))
	}
	switch {
	case replied == nil:
	case replied.accepted && t.sealer.holds(replied.state, tool.Name, caller, arguments):
		return nil, nil
	case !replied.accepted:
		return nil, new(resultOf(nil, clustermanager.Refuse("%s: it was declined, so nothing was removed: call again to be asked again, or with dryRun to see what would go", tool.Name)))
	}
	shown := make(map[string]any, len(arguments)+1)
	for name, value := range arguments {
		shown[name] = value
	}
	shown["dryRun"] = true
	preview, _ := json.Marshal(shown)
	answer, err := t.answer(ctx, tool, preview, t.begun(time.Now()), func(string) {})
	if err != nil {
		return nil, new(resultOf(nil, err))
	}
	would, is := answer.(clustermanager.WriteResult)
	if !is || !slices.ContainsFunc(would.Objects, isWrite) {
		return nil, nil
	}
	return &question{text: questionOf(tool, would), state: t.sealer.seal(tool.Name, caller, arguments)}, nil
}

// questionOf names what goes.
func questionOf(tool Tool, would clustermanager.WriteResult) string {
	names := map[clustermanager.Action][]string{}
	var order []clustermanager.Action
	for _, change := range slices.DeleteFunc(slices.Clone(would.Objects), func(change clustermanager.Change) bool { return !isWrite(change) }) {
		if names[change.Action] == nil {
			order = append(order, change.Action)
		}
		names[change.Action] = append(names[change.Action], change.ObjectReference.String())
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s on cluster %s/%s", tool.Name, would.Namespace, would.Cluster)
	for _, action := range order {
		fmt.Fprintf(&text, "\n%s: %s", action, firstOf(names[action]))
	}
	for _, more := range []struct {
		what  string
		names []string
	}{{"with the cluster go", would.WithCluster}, {"models served on it", would.Models}, {"warnings", would.Warnings}} {
		if len(more.names) > 0 {
			fmt.Fprintf(&text, "\n%s: %s", more.what, firstOf(more.names))
		}
	}
	return text.String() + "\nGo on?"
}

func firstOf(names []string) string {
	if len(names) <= namedInQuestion {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namedInQuestion], ", "), len(names)-namedInQuestion)
}
