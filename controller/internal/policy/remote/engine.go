// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/broadcast"
	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// startLimit is how long a process may take until it compiles.
	startLimit = 30 * time.Second
	// answerLimit is how long a process may take to answer a ping, on a machine with too much to do; pingInterval
	// is the time between two of them.
	answerLimit  = 30 * time.Second
	pingInterval = 5 * time.Second
	// firstPause and longestPause bound the time until a process that has ended is started once more. One that was
	// there for steadyTime starts with the first one.
	firstPause   = 250 * time.Millisecond
	longestPause = time.Minute
	steadyTime   = time.Minute
	jitter       = 0.1
)

// Config says what an [Engine] runs. Name and Path are required.
type Config struct {
	// Name is that of the engine, for the process, the log and metrics.
	Name string
	// Path and Args are the program. It must not have secrets in Args.
	Path string
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Settings are what [Host.NewCompiler] gets.
	Settings []byte
	// Entries answers the queries of policies.
	Entries policy.Entries
	// MemoryLimit is the GOMEMLIMIT of the process in bytes; 0 for none of its own.
	MemoryLimit int64

	// answerLimit and pingInterval are set by tests.
	answerLimit, pingInterval time.Duration
}

// Engine is a [policy.Compiler] whose policies are evaluated by another process. Make it with [New].
type Engine struct {
	config   Config
	suspects *suspects
	changed  broadcast.Signal[func()]

	mu sync.Mutex
	// session is the process that is there; nil while it is away, for a cause.
	session *session
	cause   error
	// turned is closed, and replaced, when the engine has gone or come back.
	turned chan struct{}
	// tried is closed when it was there for the first time, or when its first start has failed.
	tried chan struct{}
	// served is true once it was there.
	served bool
	// lastID is that of the last policy, list of exceptions or call.
	lastID uint64
	// lists are lists of exceptions that policies were compiled with last.
	lists []*exceptionList
	// released are IDs that are not needed any more.
	released []uint64
}

var (
	_ policy.Compiler = (*Engine)(nil)
	_ policy.Changing = (*Engine)(nil)
)

var errNotStarted = errors.New("it is not started yet")

// New returns an engine that is away until [Engine.Run].
func New(config Config) (*Engine, error) {
	if config.Name == "" || config.Path == "" {
		return nil, errors.New("remote: config: Name and Path are required")
	}
	if config.answerLimit == 0 {
		config.answerLimit = answerLimit
	}
	if config.pingInterval == 0 {
		config.pingInterval = pingInterval
	}
	return &Engine{
		config: config, suspects: newSuspects(), cause: errNotStarted,
		turned: make(chan struct{}), tried: make(chan struct{}),
	}, nil
}

// Name returns the name of the engine.
func (e *Engine) Name() string { return e.config.Name }

// Run keeps the process running until ctx is done. It must be called once only.
func (e *Engine) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx).WithValues("engine", e.config.Name)
	pauses := newPauses()
	engineUp.WithLabelValues(e.config.Name).Set(0)
	for {
		began := time.Now()
		err := e.runOnce(ctx)
		if ctx.Err() != nil {
			e.away(ctx.Err())
			return nil //nolint:nilerr // It is due to the end of ctx.
		}
		e.away(err)
		if time.Since(began) > steadyTime {
			pauses = newPauses()
		}
		pause := pauses.Step()
		logger.Error(err, "An engine is away: its policies are not evaluated, and their results stay as they are", "retryIn", pause.Round(time.Millisecond).String())
		if !sleep(ctx, pause) {
			return nil
		}
		restarts.WithLabelValues(e.config.Name).Inc()
	}
}

func newPauses() *wait.Backoff {
	const doubling, steps = 2, 20
	return &wait.Backoff{Duration: firstPause, Factor: doubling, Jitter: jitter, Steps: steps, Cap: longestPause}
}

// sleep returns false if ctx is done before.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// runOnce starts the process and returns why it is away.
func (e *Engine) runOnce(ctx context.Context) error {
	began := time.Now()
	s, err := e.start(ctx)
	if err != nil {
		return fmt.Errorf("start %s: %w", e.config.Path, err)
	}
	defer s.process.end(endGrace)
	klog.FromContext(ctx).Info("An engine is there", "engine", e.config.Name, "version", s.version,
		"pid", s.process.command.Process.Pid, "took", time.Since(began).Round(time.Millisecond).String())
	e.back(s)
	return s.serve(ctx)
}

// back sets the process that is there.
func (e *Engine) back(s *session) {
	engineUp.WithLabelValues(e.config.Name).Set(1)
	e.turn(s, nil)
}

var errEnded = errors.New("it has ended")

// lost says that a process has ended, before anybody knows why.
func (e *Engine) lost(s *session) {
	e.mu.Lock()
	current := e.session == s
	e.mu.Unlock()
	if current { // Nothing else sets it to another one until Run knows that it has ended.
		e.away(errEnded)
	}
}

// away says that no process is there.
func (e *Engine) away(cause error) {
	engineUp.WithLabelValues(e.config.Name).Set(0)
	e.turn(nil, cause)
}

func (e *Engine) turn(s *session, cause error) {
	e.mu.Lock()
	same := e.session == s && errors.Is(e.cause, errEnded)
	e.session, e.cause = s, cause
	if same {
		e.mu.Unlock()
		return // It is only known better why.
	}
	e.served = e.served || s != nil
	close(e.turned)
	e.turned = make(chan struct{})
	select {
	case <-e.tried:
	default:
		close(e.tried)
	}
	e.mu.Unlock()
	for _, changed := range e.changed.Subscribers() {
		changed()
	}
}

// Subscribe implements [policy.Changing].
func (e *Engine) Subscribe(changed func()) (unsubscribe func()) { return e.changed.Subscribe(changed) }

// Ready returns nil once the engine was there; until then, an error that says what is missing.
func (e *Engine) Ready() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.served {
		return nil
	}
	return e.awayError()
}

// there returns the process, or an [*policy.AwayError].
func (e *Engine) there() (*session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.session == nil {
		return nil, e.awayError()
	}
	return e.session, nil
}

// awayError is called with the mutex.
func (e *Engine) awayError() error { return &policy.AwayError{Engine: e.config.Name, Cause: e.cause} }

// await waits until the process is there.
func (e *Engine) await(ctx context.Context) error {
	for {
		e.mu.Lock()
		s, turned := e.session, e.turned
		e.mu.Unlock()
		if s != nil {
			return nil
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// nextID returns an ID that is used for nothing else.
func (e *Engine) nextID() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastID++
	return e.lastID
}

// release says that what has an ID is not needed any more.
func (e *Engine) release(id uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.released = append(e.released, id)
}

func (e *Engine) takeReleased() []uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := e.released
	e.released = nil
	return taken
}

// Compile implements [policy.Compiler]. It waits for the first start of the process, and no later one: a policy
// that is compiled while the engine is away is [policy.Outdated].
func (e *Engine) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	timer := time.NewTimer(startLimit)
	defer timer.Stop()
	select {
	case <-e.tried:
	case <-timer.C:
	}
	return e.newPolicy(object, e.listOf(exceptions))
}
