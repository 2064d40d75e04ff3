// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/policytest"
	"github.com/docket-project/docket/internal/testkit"
)

// patience is for a slow machine; nothing waits that long if all is well.
const patience = testkit.Patience

// The environment of the test binary when it is an engine.
const (
	modeVariable = "TEST_REMOTE_ENGINE"
	// versionVariable has the name of a file with the version of the engine.
	versionVariable = "TEST_REMOTE_VERSION"
)

// TestMain lets the test binary be an engine.
func TestMain(m *testing.M) {
	mode := os.Getenv(modeVariable)
	if mode == "" {
		klog.LogToStderr(false)
		klog.SetOutput(io.Discard)
		os.Exit(m.Run())
	}
	version := protocolVersion
	switch mode {
	case "another version":
		version++
	case "no engine":
		fmt.Println("hello, world")
		os.Exit(0)
	case "ends at once":
		fmt.Fprintln(os.Stderr, "there is no memory")
		os.Exit(3)
	}
	out := os.Stdout
	os.Stdout = os.Stderr
	err := serve(context.Background(), os.Stdin, out, Host{NewCompiler: func(name string, settings []byte, entries policy.Entries) (policy.Compiler, string, error) {
		if mode == "refuses" {
			return nil, "", errors.New("settings: " + string(settings) + " for " + name)
		}
		text := "test 1"
		if file := os.Getenv(versionVariable); file != "" {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, "", err
			}
			text = string(data)
		}
		return trouble{entries: entries}, text, nil
	}}, version)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// trouble makes policies that do what the annotation "do" of a subject says, and else what those of policytest do.
type trouble struct{ entries policy.Entries }

func (c trouble) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	if object.GetAnnotations()["do"] == "end" {
		end()
	}
	return &troubled{Policy: policytest.Compiler{}.Compile(object, exceptions), compiler: c, object: object}
}

type troubled struct {
	policy.Policy

	compiler trouble
	object   *unstructured.Unstructured
}

func end() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// Evaluate implements [policy.Policy]. What a subject wants may be for the policy of one name only.
func (p *troubled) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	what, whom, _ := strings.Cut(subject.Object.GetAnnotations()["do"], " for ")
	if whom != "" && whom != p.object.GetName() {
		what = ""
	}
	what, argument, _ := strings.Cut(what, " ")
	switch what {
	case "end":
		end()
	case "end-once":
		if os.Remove(argument) == nil {
			end()
		}
	case "panic":
		panic("trouble")
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "sleep":
		length, err := time.ParseDuration(argument)
		if err != nil {
			return nil, err
		}
		select {
		case <-time.After(length):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "touch":
		if err := os.WriteFile(argument, nil, 0o600); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, os.Remove(argument)
	case "ask":
		value, err := p.compiler.entries.Query(ctx, policy.Query{Entry: policy.Entry{Kind: policy.CachedContextEntry, Name: argument}, Expression: "x"})
		if err != nil {
			return errorResults(err), nil
		}
		return []policy.Result{{Outcome: report.OutcomePass, Message: fmt.Sprintf("%T %v", value, value)}}, nil
	case "size":
		return []policy.Result{{Outcome: report.OutcomePass, Message: strconv.Itoa(len(subject.Object.GetAnnotations()["large"]))}}, nil
	case "namespace":
		return []policy.Result{{Outcome: report.OutcomePass, Message: fmt.Sprint(subject.NamespaceObject.Annotations, subject.NamespaceLabels, subject.Resource)}}, nil
	}
	return p.Policy.Evaluate(ctx, subject)
}

// Fingerprint implements [policy.Policy].
func (p *troubled) Fingerprint() string { return p.object.GetName() + p.Policy.Fingerprint() }

// Admission implements [policy.Policy].
func (p *troubled) Admission() policy.Admission {
	return policy.Admission{
		Enabled: true, Enforces: true, Closed: true, Operations: []admissionv1.Operation{admissionv1.Create},
		Targets: []policy.Target{{Version: "v1", Kind: "Pod", Subresource: "exec"}}, Roles: true, Timeout: 3 * time.Second,
	}
}

// IgnoredExceptions is for [policy.IgnoredExceptions].
func (p *troubled) IgnoredExceptions() []policy.IgnoredException {
	return []policy.IgnoredException{{Reason: policy.ExceptionNamespace, Message: "there"}}
}

// Coverage is for [policy.CoverageOf].
func (p *troubled) Coverage() policy.Coverage {
	return policy.Coverage{None: true, Rules: map[string]bool{"r": true, "other": false}}
}

// Entries implements [policy.Policy].
func (p *troubled) Entries() []policy.Entry {
	return []policy.Entry{{Kind: policy.CachedContextEntry, Name: "numbers"}}
}

// Doubt implements [policy.Policy].
func (p *troubled) Doubt() error {
	return &policy.UnknownFieldsError{Paths: []string{"spec.x"}, Engine: "test"}
}

// LeftOut implements [policy.Policy].
func (p *troubled) LeftOut() []string { return []string{"a rule: it mutates"} }

// Review implements [policy.Policy]: it says what it sees.
func (p *troubled) Review(ctx context.Context, request *policy.Request) ([]policy.Verdict, error) {
	if subject := request.Subject(); subject != nil && subject.GetAnnotations()["do"] != "" {
		results, err := p.Evaluate(ctx, policy.Subject{Object: subject, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}})
		if err != nil {
			return nil, err
		}
		return []policy.Verdict{{Result: results[0]}}, nil
	}
	roles, clusterRoles, err := request.Roles()
	text := fmt.Sprint(request.UID, request.Operation, request.New.GetName(), request.Old == nil, string(request.Object.Raw), request.NamespaceLabels,
		request.NamespaceObject.GetName(), roles, clusterRoles, err)
	return []policy.Verdict{{Result: policy.Result{Rule: "r", Outcome: report.OutcomeFail, Message: text, Properties: map[string]string{"a": "b"}}, Deny: true}}, nil
}

// newEngine returns an engine that runs until the test ends. A change of the configuration may be nil.
func newEngine(t testing.TB, change func(*Config)) *Engine {
	t.Helper()
	config := Config{Name: "test", Path: os.Args[0], Env: []string{modeVariable + "=normal"}}
	if change != nil {
		change(&config)
	}
	e, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return e
}

func mode(text string) func(*Config) {
	return func(c *Config) { c.Env = []string{modeVariable + "=" + text} }
}

// named returns a policy of policytest about pods.
func named(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"kinds": []any{"Pod"}, "label": "owner", "severity": "high"},
	}}
}

// compile fails the test if the engine is away.
func compile(t testing.TB, e *Engine, object *unstructured.Unstructured, exceptions ...*unstructured.Unstructured) policy.Policy {
	t.Helper()
	p := e.Compile(object, exceptions)
	if policy.Outdated(p) {
		t.Fatal(p.Problem())
	}
	return p
}

// pod returns a pod that wants something done.
func pod(name, do string) policy.Subject {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "team", "labels": map[string]any{"owner": "me"}},
		"spec": map[string]any{"priority": int64(7)},
	}}
	if do != "" {
		object.SetAnnotations(map[string]string{"do": do})
	}
	return policy.Subject{Object: object, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}}
}

// evaluate returns the text of the first result, or the error.
func evaluate1(ctx context.Context, p policy.Policy, subject policy.Subject) string {
	results, err := p.Evaluate(ctx, subject)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case len(results) == 0:
		return ""
	}
	return string(results[0].Outcome) + ": " + results[0].Message
}

// persist evaluates until the engine is not away, and returns how often it was.
func persist(ctx context.Context, t *testing.T, p policy.Policy, subject policy.Subject) (text string, times int) {
	t.Helper()
	for {
		results, err := p.Evaluate(ctx, subject)
		var away *policy.AwayError
		if !errors.As(err, &away) {
			if err != nil || len(results) != 1 {
				t.Fatal(results, err)
			}
			return string(results[0].Outcome) + ": " + results[0].Message, times
		}
		times++
		if err := policy.Await(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
}
