// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/broadcast"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/remote"
)

// apartCompiler makes policies whose engine may be away, of those whose name begins with "apart".
type apartCompiler struct {
	*compiler
	changed broadcast.Signal[func()]

	mu   sync.Mutex
	gone bool
}

func (c *apartCompiler) Subscribe(changed func()) func() { return c.changed.Subscribe(changed) }

func (c *apartCompiler) set(gone bool) {
	c.mu.Lock()
	c.gone = gone
	c.mu.Unlock()
	for _, changed := range c.changed.Subscribers() {
		changed()
	}
}

func (c *apartCompiler) away() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return &policy.AwayError{Engine: "fake", Cause: errors.New("it has ended")}
	}
	return nil
}

func (c *apartCompiler) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	p := c.compiler.Compile(object, exceptions)
	if !strings.HasPrefix(object.GetName(), "apart") {
		return p
	}
	apart := &apartPolicy{Policy: p, compiler: c, placeholder: c.away() != nil}
	return apart
}

type apartPolicy struct {
	policy.Policy

	compiler    *apartCompiler
	placeholder bool
}

func (p *apartPolicy) Outdated() bool                  { return p.placeholder }
func (p *apartPolicy) Engine() any                     { return p.compiler }
func (p *apartPolicy) Await(ctx context.Context) error { return ctx.Err() }
func (p *apartPolicy) Targets() []policy.Target        { return p.unless(p.Policy.Targets()) }
func (p *apartPolicy) unless(t []policy.Target) []policy.Target {
	if p.placeholder {
		return nil
	}
	return t
}

func (p *apartPolicy) Away() error {
	if p.placeholder {
		return &policy.AwayError{Engine: "fake", Cause: errors.New("it was never there")}
	}
	return p.compiler.away()
}

func (p *apartPolicy) Batch(ctx context.Context, _ []policy.Policy, _ policy.Subject, _ time.Duration) (context.Context, func()) {
	return ctx, func() {}
}

func (p *apartPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	if err := p.Away(); err != nil {
		return nil, err
	}
	return p.Policy.Evaluate(ctx, subject)
}

// TestEngineAway: while an engine is away its results stay, whatever happens, and all others change; when it is back,
// everything is as if it had always been there.
func TestEngineAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "apart")
	w.policy(t, "apart", spec{Targets: targets("ConfigMap"), Rules: asking("team"), NamespaceLabel: "apart"})
	w.policy(t, "beside", spec{Targets: targets("ConfigMap"), Rules: asking("team"), NamespaceLabel: "apart"})
	w.update(t, spaces, "", "apart", func(o *unstructured.Unstructured) { setLabels(o, "apart") })
	a := w.create(t, configMaps, object("v1", "ConfigMap", "apart", "a"))
	w.configMap(t, "apart", "b")
	r := newRunning()
	engine := &apartCompiler{compiler: r.compiler, gone: true}
	r.wrapped = engine
	left := policy.ReferenceTo(a)
	left.Name, left.UID = "left", "1"
	r.results.load(clusterPolicy("apart"), policy.ReferenceTo(a), "has-team=pass")
	r.results.load(clusterPolicy("apart"), left, "has-team=pass")
	const apart, beside = "ClusterPolicy/apart ConfigMap/apart/", "ClusterPolicy/beside ConfigMap/apart/"

	w.start(t, r)
	r.rest(t)
	r.want(t, beside, beside+"a has-team=fail", beside+"b has-team=fail")
	r.want(t, apart, apart+"a has-team=pass", apart+"left has-team=pass")
	if got := r.results.presentations(clusterPolicy("apart")); len(got) > 0 {
		t.Errorf("results are shown as %v, which nobody knows", got)
	}

	engine.set(false)
	r.want(t, apart, apart+"a has-team=fail", apart+"b has-team=fail")

	engine.set(true)
	w.update(t, configMaps, "apart", "a", func(o *unstructured.Unstructured) { setLabels(o, "team") })
	w.configMap(t, "apart", "c")
	w.remove(t, configMaps, "apart", "b")
	r.want(t, beside, beside+"a has-team=pass", beside+"c has-team=fail")
	r.rest(t)
	r.want(t, apart, apart+"a has-team=fail")

	engine.set(false)
	r.want(t, apart, apart+"a has-team=pass", apart+"c has-team=fail")

	engine.set(true)
	w.change(t, "apart", spec{Targets: targets("ConfigMap"), Rules: asking("owner"), NamespaceLabel: "apart"})
	w.change(t, "beside", spec{Targets: targets("ConfigMap"), Rules: asking("owner"), NamespaceLabel: "apart"})
	r.want(t, beside, beside+"a has-owner=fail", beside+"c has-owner=fail")
	r.rest(t)
	r.want(t, apart, apart+"a has-team=pass", apart+"c has-team=fail")

	engine.set(false)
	r.want(t, apart, apart+"a has-owner=fail", apart+"c has-owner=fail")
}

// engineVariable has the file into which the test binary writes its process ID if it is an engine.
const engineVariable = "TEST_SCAN_ENGINE"

// runEngine is the engine.
func runEngine() int {
	file := os.Getenv(engineVariable)
	err := os.WriteFile(file+".new", []byte(strconv.Itoa(os.Getpid())), 0o600)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err == nil {
		err = remote.Serve(context.Background(), os.Stdin, os.Stdout, remote.Host{NewCompiler: func(string, []byte, policy.Entries) (policy.Compiler, string, error) {
			return slowly{newCompiler()}, "1", nil
		}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// slowly takes some time for each evaluation, so that a process can be killed meanwhile.
type slowly struct{ *compiler }

func (c slowly) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	return slowPolicy{c.compiler.Compile(object, exceptions)}
}

type slowPolicy struct{ policy.Policy }

func (p slowPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	timer := time.NewTimer(time.Millisecond)
	<-timer.C
	return p.Policy.Evaluate(ctx, subject)
}

// TestEngineKilled: an engine that is killed several times during a scan loses, doubles and changes no result.
func TestEngineKilled(t *testing.T) {
	t.Parallel()
	const count, kills = 300, 3
	w := newWorld(t)
	w.namespace(t, "killed", "killed")
	for i, name := range numbered("c", count) {
		w.configMap(t, "killed", name, []string{"team", "owner", "none"}[i%3])
	}
	for i, label := range []string{"team", "owner", "team", "other"} {
		w.policy(t, fmt.Sprint("killed-", i), spec{Targets: targets("ConfigMap"), Rules: asking(label), NamespaceLabel: "killed"})
	}
	undisturbed := w.scan(t)
	undisturbed.rest(t)
	want := undisturbed.results.lines("ClusterPolicy/killed-")
	undisturbed.stop()
	if len(want) != 4*count {
		t.Fatalf("there are %d results", len(want))
	}

	file := filepath.Join(t.TempDir(), "pid")
	engine, err := remote.New(remote.Config{Name: "killed", Path: os.Args[0], Env: []string{engineVariable + "=" + file}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(t.Context()), klog.Logger{}))
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	r := newRunning()
	r.wrapped = engine
	w.start(t, r)
	for killed, pid := 0, ""; killed < kills; {
		data, err := os.ReadFile(file)
		if n := len(r.results.lines("ClusterPolicy/killed-")); err == nil && string(data) != pid && n > (killed+1)*count/2 {
			pid = string(data)
			number, err := strconv.Atoi(pid)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(number, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			killed++
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("the test has ended")
		}
	}
	eventually(t, func() string { return cmp.Diff(want, r.results.lines("ClusterPolicy/killed-")) })
	r.rest(t)
	if diff := cmp.Diff(want, r.results.lines("ClusterPolicy/killed-")); diff != "" {
		t.Errorf("results at the end:\n%s", diff)
	}
	if slices.ContainsFunc(want, func(line string) bool { return strings.Contains(line, "error") }) {
		t.Error("there are errors")
	}
}
