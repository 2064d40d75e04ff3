// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// maxLists is how many lists of exceptions are remembered. Usually all policies have the same.
const maxLists = 4

// exceptionList is a list of exceptions that several policies have.
type exceptionList struct {
	id      uint64
	objects []*unstructured.Unstructured
	encoded func() ([][]byte, error)
}

// listOf returns the list with these exceptions.
func (e *Engine) listOf(exceptions []*unstructured.Unstructured) *exceptionList {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, list := range e.lists {
		if slices.Equal(list.objects, exceptions) {
			return list
		}
	}
	e.lastID++
	list := &exceptionList{id: e.lastID, objects: exceptions, encoded: sync.OnceValues(func() ([][]byte, error) {
		data := make([][]byte, len(exceptions))
		for i, object := range exceptions {
			var err error
			if data[i], err = encodeObject(object); err != nil {
				return nil, err
			}
		}
		return data, nil
	})}
	runtime.AddCleanup(list, e.release, list.id)
	if e.lists = append(e.lists, list); len(e.lists) > maxLists {
		e.lists = slices.Delete(e.lists, 0, 1)
	}
	return list
}

// compiled is a policy that the process evaluates. A process that is started later compiles it when it needs it.
type compiled struct {
	engine     *Engine
	id         uint64
	object     *unstructured.Unstructured
	exceptions *exceptionList

	description Description
	// described is false if the policy could not be compiled because the engine was away, or ended.
	described bool
	problem   error
	// outdated is true if the engine would describe it differently now.
	outdated atomic.Bool

	// mu is held while it is compiled, in is the session that has it.
	mu sync.Mutex
	in atomic.Pointer[session]
}

var _ policy.Apart = (*compiled)(nil)

// newPolicy has a policy compiled.
func (e *Engine) newPolicy(object *unstructured.Unstructured, exceptions *exceptionList) policy.Policy {
	p := &compiled{engine: e, id: e.nextID(), object: object, exceptions: exceptions}
	runtime.AddCleanup(p, e.release, p.id)
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	s, err := e.there()
	if err == nil {
		err = p.compile(ctx, s)
	}
	if err != nil {
		p.guess(err)
	}
	return p
}

// guess fills in what can be said without the engine.
func (p *compiled) guess(problem error) {
	_, disabled := p.object.GetLabels()[policy.DisabledLabel]
	p.described, p.problem = false, problem
	p.description = Description{
		Identity:   policy.Identity{Kind: p.object.GetKind(), Namespace: p.object.GetNamespace(), Name: p.object.GetName()},
		Background: true, Reported: !disabled, ReadsStatus: true,
	}
}

// ensure has the policy compiled by a process once more, if that is a later one than the first.
func (p *compiled) ensure(ctx context.Context, s *session) error {
	if p.Outdated() {
		return p.Away()
	}
	return p.compile(ctx, s)
}

// compile has the policy compiled by a process, if that has not compiled it before.
func (p *compiled) compile(ctx context.Context, s *session) error {
	if p.in.Load() == s {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in.Load() == s {
		return nil
	}
	object, err := encodeObject(p.object)
	if err == nil {
		err = checkSize(object)
	}
	if err != nil {
		return err
	}
	var description Description
	err = s.guard(ctx, func() suspect { return suspect{what: "Compile", subject: sha256.Sum256(object)} }, func() error {
		if err := s.send(ctx, p.exceptions); err != nil {
			return err
		}
		return s.call(ctx, "Compile", &Compile{ID: p.id, Object: object, Exceptions: p.exceptions.id}, &description)
	})
	if err != nil {
		return err
	}
	description.Fingerprint = s.version + " " + description.Fingerprint
	switch {
	case !p.described:
		p.description, p.described = description, true
		if description.Problem != "" {
			p.problem = errors.New(description.Problem)
		}
	case description.Fingerprint != p.description.Fingerprint:
		p.outdated.Store(true)
		p.engine.tellChanged()
		return p.engine.awayFor("it is there in another version; the policy is being compiled once more")
	}
	p.in.Store(s)
	return nil
}

func (e *Engine) tellChanged() {
	for _, changed := range e.changed.Subscribers() {
		changed()
	}
}

func (e *Engine) awayFor(reason string) error {
	return &policy.AwayError{Engine: e.config.Name, Cause: errors.New(reason)}
}

// send sends a list of exceptions, if the process does not have it.
func (s *session) send(ctx context.Context, list *exceptionList) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent[list.id] {
		return nil
	}
	encoded, err := list.encoded()
	if err != nil {
		return err
	}
	if err := s.call(ctx, "Exceptions", &Exceptions{ID: list.id, Objects: encoded}, &None{}); err != nil {
		return err
	}
	s.sent[list.id] = true
	return nil
}

// guard makes a call that works with what users have written. If the process has ended during an earlier one of
// the same suspect, it is alone; if the process ends once more, it is a suspect.
func (s *session) guard(ctx context.Context, who func() suspect, call func() error) error {
	suspects := s.engine.suspects
	alone := false
	if suspects.any() {
		suspected, out := suspects.known(who())
		if out {
			return errSingledOut
		}
		alone = suspected
	}
	release, alone, err := s.slot(ctx, alone)
	if err != nil {
		return err
	}
	defer release()
	err = call()
	switch {
	case ended(err):
		return s.died(err, who(), alone)
	case alone && err == nil:
		suspects.survived(who())
	}
	return err
}

// died records that the process has ended, and returns the error for what was to be evaluated.
func (s *session) died(err error, who suspect, alone bool) error {
	s.engine.lost(s)
	if !unsent(err) && s.engine.suspects.died(who, alone) {
		singledOut.WithLabelValues(s.engine.config.Name).Inc()
	}
	return &policy.AwayError{Engine: s.engine.config.Name, Cause: fmt.Errorf("it has ended during the call: %w", err)}
}

// patienceForAlone is how long a call waits until it is alone, while no other one begins. If others take longer
// than that, it is not alone.
const patienceForAlone = 5 * time.Second

// slot waits until a call may begin.
func (s *session) slot(ctx context.Context, wanted bool) (release func(), alone bool, err error) {
	if wanted {
		limited, cancel := context.WithTimeout(ctx, patienceForAlone)
		err := s.slots.Acquire(limited, allSlots)
		cancel()
		if err == nil {
			return func() { s.slots.Release(allSlots) }, true, nil
		}
	}
	if err := s.slots.Acquire(ctx, 1); err != nil {
		return nil, false, err
	}
	return func() { s.slots.Release(1) }, false, nil
}

// Identity implements [policy.Policy].
func (p *compiled) Identity() policy.Identity { return p.description.Identity }

// Presentation implements [policy.Policy].
func (p *compiled) Presentation() policy.Presentation { return p.description.Presentation }

// Fingerprint implements [policy.Policy].
func (p *compiled) Fingerprint() string { return p.description.Fingerprint }

// Background implements [policy.Policy].
func (p *compiled) Background() bool { return p.description.Background }

// Reported implements [policy.Policy].
func (p *compiled) Reported() bool { return p.description.Reported }

// Admission implements [policy.Policy].
func (p *compiled) Admission() policy.Admission { return p.description.Admission }

// Entries implements [policy.Policy].
func (p *compiled) Entries() []policy.Entry { return p.description.Entries }

// ReadsStatus implements [policy.Policy].
func (p *compiled) ReadsStatus() bool { return p.description.ReadsStatus }

// ReadsNamespace implements [policy.Policy].
func (p *compiled) ReadsNamespace() bool { return p.description.ReadsNamespace }

// Targets implements [policy.Policy].
func (p *compiled) Targets() []policy.Target { return p.description.Targets }

// Problem implements [policy.Policy].
func (p *compiled) Problem() error { return p.problem }

// Doubt implements [policy.Policy].
func (p *compiled) Doubt() error {
	switch {
	case p.description.Unknown != nil:
		return p.description.Unknown
	case p.description.Doubt != "":
		return errors.New(p.description.Doubt)
	}
	return nil
}

// LeftOut implements [policy.Policy].
func (p *compiled) LeftOut() []string { return p.description.LeftOut }

// IgnoredExceptions is for [policy.IgnoredExceptions].
func (p *compiled) IgnoredExceptions() []policy.IgnoredException { return p.description.Ignored }

// Coverage is for [policy.CoverageOf].
func (p *compiled) Coverage() policy.Coverage { return p.description.Coverage }

// Engine implements [policy.Apart].
func (p *compiled) Engine() any { return p.engine }

// Outdated implements [policy.Apart].
func (p *compiled) Outdated() bool { return !p.described || p.outdated.Load() }

// Away implements [policy.Apart].
func (p *compiled) Away() error {
	_, err := p.engine.there()
	if err != nil || !p.Outdated() {
		return err
	}
	var away *policy.AwayError
	if p.problem == nil || errors.As(p.problem, &away) {
		return p.engine.awayFor("it is there, and has not compiled the policy yet")
	}
	return &policy.AwayError{Engine: p.engine.config.Name, Cause: p.problem}
}

// Await implements [policy.Apart].
func (p *compiled) Await(ctx context.Context) error { return p.engine.await(ctx) }

// Evaluate implements [policy.Policy].
func (p *compiled) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	if prepared := preparedIn(ctx, p.engine); prepared != nil && prepared.subject.Object == subject.Object {
		if i := slices.Index(prepared.policies, p); i >= 0 {
			return prepared.wait(ctx, i)
		}
	}
	alone, cancel := context.WithCancel(ctx)
	defer cancel()
	var limit time.Duration
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(time.Until(deadline), 1)
	}
	return p.engine.begin(alone, []*compiled{p}, subject, limit).wait(ctx, 0)
}

// errorResults say that a policy can't be evaluated for a subject.
func errorResults(cause error) []policy.Result {
	return []policy.Result{{Outcome: report.OutcomeError, Message: cause.Error()}}
}

// Review implements [policy.Policy].
func (p *compiled) Review(ctx context.Context, request *policy.Request) ([]policy.Verdict, error) {
	review, err := encodeRequest(request)
	if err != nil {
		return nil, err
	}
	if p.description.Admission.Roles {
		review.addRoles(request)
	}
	s, err := p.engine.there()
	if err != nil {
		return nil, err
	}
	if err := p.ensure(ctx, s); err != nil {
		return nil, err
	}
	review.ID, review.Policy = p.engine.nextID(), p.id
	if deadline, ok := ctx.Deadline(); ok {
		review.Limit = max(time.Until(deadline), 1)
	}
	var reviewed Reviewed
	// What comes with every request, such as its UID and the name, does not tell requests apart.
	who := func() suspect { return suspect{"Review", p.Fingerprint(), contentOf(request)} }
	err = s.guard(ctx, who, func() error {
		err := s.call(ctx, "Review", &review, &reviewed)
		if ctx.Err() != nil {
			s.cancel(review.ID)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case reviewed.Error != "":
		return nil, errorOf(reviewed.Error)
	}
	return reviewed.Verdicts, nil
}

// contentOf returns a hash of what policies look at most in a request.
func contentOf(request *policy.Request) [sha256.Size]byte {
	text := string(request.Operation) + " " + request.Resource.String() + " " + request.SubResource
	if subject := request.Subject(); subject != nil {
		if content, err := policy.ContentOf(subject); err == nil {
			text += " " + content.String()
		}
	}
	return sha256.Sum256([]byte(text))
}
