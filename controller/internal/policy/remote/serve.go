// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"io"
	"net/rpc"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/docket-project/docket/controller/internal/policy"
)

// Host says what an engine is.
type Host struct {
	// NewCompiler returns the compiler of the engine with a name, with the settings of [Config.Settings], and the
	// name and version of what evaluates.
	NewCompiler func(name string, settings []byte, entries policy.Entries) (compiler policy.Compiler, version string, err error)
}

// Serve is an engine: it answers what comes from its parent until ctx is done or in ends, which is when the parent
// has ended. Nothing else may write to out.
func Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, host Host) error {
	return serve(ctx, in, out, host, protocolVersion)
}

func serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, host Host, version int) error {
	if _, err := io.WriteString(out, hello(version)); err != nil {
		return fmt.Errorf("say hello: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := rpc.NewServer()
	if err := server.RegisterName(serviceName, newService(ctx, host)); err != nil {
		return err
	}
	// The server waits for all calls at the end; nobody is there to read their results.
	go server.ServeConn(stream{Reader: endingReader{in, cancel}, WriteCloser: out, in: in})
	<-ctx.Done()
	return nil
}

// endingReader calls ended when there is nothing more to read.
type endingReader struct {
	io.Reader
	ended func()
}

// Read implements io.Reader.
func (r endingReader) Read(to []byte) (int, error) {
	n, err := r.Reader.Read(to)
	if err != nil {
		r.ended()
	}
	return n, err
}

// stream is what net/rpc reads and writes.
type stream struct {
	io.Reader
	io.WriteCloser
	in io.Closer
}

// Close implements io.Closer.
func (s stream) Close() error {
	err := s.in.Close()
	if broken := s.WriteCloser.Close(); err == nil {
		err = broken
	}
	return err
}

// service has the methods that net/rpc calls.
type service struct {
	ctx   context.Context //nolint:containedctx // That of all calls.
	host  Host
	asker *asker

	mu         sync.Mutex
	compiler   policy.Compiler
	exceptions map[uint64][]*unstructured.Unstructured
	policies   map[uint64]policy.Policy
	// running are evaluations and reviews, by ID.
	running map[uint64]func()
	batches map[uint64]*running
}

func newService(ctx context.Context, host Host) *service {
	return &service{
		ctx: ctx, host: host, asker: newAsker(), exceptions: map[uint64][]*unstructured.Unstructured{},
		policies: map[uint64]policy.Policy{}, running: map[uint64]func(){}, batches: map[uint64]*running{},
	}
}

// Setup makes the compiler. It is called once, first.
func (s *service) Setup(setup *Setup, about *About) error {
	compiler, version, err := s.host.NewCompiler(setup.Name, setup.Settings, s.asker)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compiler, about.Version = compiler, version
	return nil
}

// Exceptions keeps a list.
func (s *service) Exceptions(list *Exceptions, _ *None) error {
	objects := make([]*unstructured.Unstructured, len(list.Objects))
	for i, data := range list.Objects {
		var err error
		if objects[i], err = decodeObject(data); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exceptions[list.ID] = objects
	return nil
}

// Compile compiles a policy.
func (s *service) Compile(of *Compile, into *Description) error {
	object, err := decodeObject(of.Object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	compiler, exceptions := s.compiler, s.exceptions[of.Exceptions]
	s.mu.Unlock()
	p := compiler.Compile(object, exceptions)
	*into = describe(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policies[of.ID] = p
	return nil
}

// Ping answers, and forgets what is not needed.
func (s *service) Ping(ping *Ping, _ *None) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ping.Release {
		delete(s.policies, id)
		delete(s.exceptions, id)
	}
	return nil
}

// Cancel ends a call.
func (s *service) Cancel(cancel *Cancel, _ *None) error {
	s.mu.Lock()
	end := s.running[cancel.ID]
	s.mu.Unlock()
	if end != nil {
		end()
	}
	return nil
}

// begin returns the context of a call, and what to call at its end.
func (s *service) begin(id uint64) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[id] = cancel
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, id)
	}
}

// policy returns a policy that was compiled before.
func (s *service) policy(id uint64) (policy.Policy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.policies[id]
	if !ok {
		return nil, fmt.Errorf("the engine has no policy %d", id)
	}
	return p, nil
}

// Ask waits for queries of the context cache.
func (s *service) Ask(_ *None, asked *Asked) error { return s.asker.next(s.ctx, asked) }

// Answer takes the result of a query.
func (s *service) Answer(answer *Answer, _ *None) error {
	s.asker.answer(answer)
	return nil
}

// Review evaluates an admission request.
func (s *service) Review(review *Review, into *Reviewed) error {
	p, err := s.policy(review.Policy)
	if err != nil {
		return err
	}
	request, err := review.decode()
	if err != nil {
		return err
	}
	ctx, end := s.begin(review.ID)
	defer end()
	if review.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, review.Limit)
		defer cancel()
	}
	into.Verdicts, err = p.Review(ctx, request)
	into.Error = textOf(err)
	return nil
}

func decodeObject(data []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &object.Object); err != nil {
		return nil, fmt.Errorf("decode an object: %w", err)
	}
	return object, nil
}
