// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// Runner runs cases on both servers.
type Runner struct {
	// Left is the server whose answers are right.
	Left, Right *Target
	// Namespace is there on both, with the objects' owner in it.
	Namespace string
	// Known returns the name of a known difference, "" for a new one; if it is nil, all are new.
	Known func(Seen) string

	// Prefix is what the names of objects begin with, another one for each runner of a server.
	Prefix string

	runs atomic.Int64
}

// newName returns a name that no other run of this runner has.
func (r *Runner) newName(what string) string {
	return fmt.Sprintf("%s%s-%d", r.Prefix, what, r.runs.Add(1))
}

// Seen is a difference, and where it was seen.
type Seen struct {
	Difference

	Kind Kind
	Step Step
	// Answers of the left and the right server.
	Answers [2]*Answer
}

// state is what is known of a case's object on one server.
type state struct {
	name, namespace, group string // as chosen by the runner
	object                 string // the object's real name
	generated              string // the same, if the server made it
	uid, version, old      string
	owner                  string
	listed, next           string
}

// fill replaces the marks in a text.
func (s *state) fill(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return strings.NewReplacer(nameMark, s.name, spaceMark, s.namespace, versionMark, s.version, oldMark, s.old, uidMark, s.uid,
		ownerUIDMark, s.owner, listMark, s.listed, nextMark, s.next, groupMark, s.group).Replace(text)
}

// request returns what a step is on this server.
func (s *state) request(kind Kind, step Step) request {
	kind.Version = cmp.Or(step.Version, kind.Version)
	namespace := cmp.Or(step.Namespace, s.namespace)
	if namespace == allNamespaces {
		namespace = ""
	}
	r := request{method: step.Method, path: kind.collection(namespace), header: step.Header, body: step.Raw, query: url.Values{}}
	if !step.Collection {
		r.path += "/" + s.object
	}
	r.path += step.Suffix
	for name, values := range step.Query {
		for _, value := range values {
			r.query.Add(name, s.fill(value))
		}
	}
	if step.Body != nil {
		r.body = step.Body.Text()
	}
	r.body = s.fill(r.body)
	return r
}

// learn takes what an answer tells about the object.
func (s *state) learn(step Step, a *Answer) {
	s.learnGenerated(step, a)
	metadata := a.metadata()
	if metadata == nil || a.Code >= http.StatusBadRequest || a.isStatus() {
		return
	}
	text := func(key string) string {
		value, _ := metadata[key].(string)
		return value
	}
	if step.Collection && step.Method == http.MethodGet {
		s.listed, s.next = text("resourceVersion"), text("continue")
		return
	}
	if text("name") == "" || step.Collection && step.Method == http.MethodDelete {
		return
	}
	s.object = text("name")
	if step.Query.Get("dryRun") != "" {
		return
	}
	s.uid = text("uid")
	if version := text("resourceVersion"); version != s.version {
		s.old, s.version = s.version, version
	}
}

// learnGenerated takes the name that the server made, also one that it did not like itself.
func (s *state) learnGenerated(step Step, a *Answer) {
	if step.Method != http.MethodPost || step.Body == nil || step.Body.Get("metadata") == nil {
		return
	}
	given := step.Body.Get("metadata").Get("generateName")
	about := a.metadata()
	if a.isStatus() {
		about = details(a.object())
	}
	name, _ := about["name"].(string)
	if given != nil && len(name) > generatedEnd && name != s.name && strings.HasPrefix(given.literal, `"`+name[:len(name)-generatedEnd]) {
		s.generated = name
	}
}

// generatedEnd is how much servers add to generateName.
const generatedEnd = 5

// Finding is a case whose answers differ.
type Finding struct {
	Case Case
	// Step is the number of the request whose answers differ.
	Step        int
	Differences []Seen
	// Known counts those that are known, by what they are known as.
	Known map[string]int
	// Accepted is how many requests to write were.
	Accepted int
}

// Run runs a case. The finding has no differences if all are known.
func (r *Runner) Run(ctx context.Context, c Case) (*Finding, error) {
	name := r.newName("case")
	newState := func(t *Target) *state {
		return &state{name: name, object: name, namespace: r.Namespace, owner: t.owner}
	}
	left, right := newState(r.Left), newState(r.Right)
	finding := &Finding{Case: c, Known: map[string]int{}}
	for i, step := range c.Steps {
		a, b, err := r.both(ctx, left.request(c.Kind, step), right.request(c.Kind, step))
		if err != nil {
			return nil, fmt.Errorf("seed %d, case %d, request %d (%s): %w", c.Seed, c.Number, i+1, step.Method, err)
		}
		left.learn(step, a)
		right.learn(step, b)
		x, y := a.comparable(left.generated), b.comparable(right.generated)
		for _, d := range Compare(x, y) {
			seen := Seen{d, c.Kind, step, [2]*Answer{x, y}}
			if known := r.known(seen); known != "" {
				finding.Known[known]++
				continue
			}
			finding.Differences = append(finding.Differences, seen)
		}
		if step.Method != http.MethodGet && a.Code/100 == 2 {
			finding.Accepted++
		}
		finding.Step = i
		if len(finding.Differences) > 0 || a.Code != b.Code {
			break
		}
	}
	return finding, errors.Join(r.Left.clean(ctx, c.Kind, left), r.Right.clean(ctx, c.Kind, right))
}

func (r *Runner) known(seen Seen) string {
	if r.Known == nil {
		return ""
	}
	return r.Known(seen)
}

// both sends a request to each server at the same time.
func (r *Runner) both(ctx context.Context, left, right request) (a, b *Answer, err error) {
	var group sync.WaitGroup
	var rightErr error
	group.Go(func() { b, rightErr = r.Right.do(ctx, right) })
	a, err = r.Left.do(ctx, left)
	group.Wait()
	return a, b, errors.Join(err, rightErr)
}

// clean removes what a case left.
func (t *Target) clean(ctx context.Context, kind Kind, s *state) error {
	if s.uid == "" {
		return nil
	}
	gone := s.request(kind, remove(nil))
	answer, err := t.do(ctx, gone)
	if err != nil || answer.isStatus() {
		return err
	}
	_, err = t.do(ctx, s.request(kind, patch(typeMerge, must(`{"metadata":{"finalizers":null}}`))))
	return err
}
