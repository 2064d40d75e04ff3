// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/testkit"
)

// TestEndsOnce: what was evaluated when the process was killed is evaluated once more, as is the policy compiled.
func TestEndsOnce(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	p := compile(t, e, named("owner"))
	file := filepath.Join(t.TempDir(), "once")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var turns atomic.Int32
	defer policy.Subscribe(policy.ByGroup{Compiler: e}, func() { turns.Add(1) })()
	text, times := persist(t.Context(), t, p, pod("a", "end-once "+file))
	if text != "pass: it is me" || times != 1 {
		t.Errorf("%s, after it was away %d times", text, times)
	}
	if turns.Load() < 2 || policy.Outdated(p) || e.Ready() != nil || e.suspects.any() {
		t.Errorf("told %d times, outdated %v, %v; suspects %v", turns.Load(), policy.Outdated(p), e.Ready(), e.suspects.any())
	}
}

// TestEndsAlways: a policy and a subject that end the process each time get an error, and only they: all that was
// evaluated beside them gets what it should. It ends no more than once beside others and twice alone.
func TestEndsAlways(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	var policies []policy.Policy
	for i := range 10 {
		policies = append(policies, compile(t, e, named(fmt.Sprint("p", i))))
	}
	var deaths atomic.Int32
	defer e.Subscribe(func() {
		if policy.Away(policies[0]) != nil {
			deaths.Add(1)
		}
	})()
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 5 {
				subject := pod(fmt.Sprint("a", worker, i), "")
				if worker == 1 && i == 2 {
					subject = pod("bad", "end for p3")
				}
				batch, end := policy.Batch(t.Context(), policies, subject, patience)
				for at, p := range policies {
					results, err := p.Evaluate(batch, subject)
					text := ""
					var away *policy.AwayError
					if errors.As(err, &away) {
						text, _ = persist(t.Context(), t, p, subject)
					} else if len(results) == 1 {
						text = string(results[0].Outcome) + ": " + results[0].Message
					}
					want := "pass: it is me"
					if subject.Object.GetName() == "bad" && at == 3 {
						want = "error: " + errSingledOut.Error()
					}
					if text != want {
						t.Errorf("%s by p%d: %s, %v; want %s", subject.Object.GetName(), at, text, err, want)
					}
				}
				end()
			}
		})
	}
	all.Wait()
	if n := deaths.Load(); n != 1+maxDeaths {
		t.Errorf("the process has ended %d times", n)
	}
	// The policy is evaluated for others, and for that subject when it has changed.
	for _, subject := range []policy.Subject{pod("good", ""), pod("bad", "")} {
		if got := evaluate1(t.Context(), policies[3], subject); got != "pass: it is me" {
			t.Errorf("%s: %s", subject.Object.GetName(), got)
		}
	}
}

// TestEndsDuringReview: as in an evaluation.
func TestEndsDuringReview(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	p := compile(t, e, named("owner"))
	for times := 0; ; times++ {
		_, err := p.Review(t.Context(), request(fmt.Sprint("with another name ", times), "end"))
		if errors.Is(err, errSingledOut) && times == 1+maxDeaths {
			break
		}
		var away *policy.AwayError
		if !errors.As(err, &away) || times > maxDeaths {
			t.Fatalf("%d: %v", times, err)
		}
		if err := policy.Await(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEndsDuringCompile: a policy that ends the process when it is compiled is not compiled any more.
func TestEndsDuringCompile(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	good := compile(t, e, named("owner"))
	bad := named("bad")
	bad.SetAnnotations(map[string]string{"do": "end"})
	for times := range 2 + maxDeaths {
		p := e.Compile(bad, nil)
		if singledOut := errors.Is(p.Problem(), errSingledOut); !policy.Outdated(p) || singledOut != (times == 1+maxDeaths) {
			t.Fatalf("%d: %v", times, p.Problem())
		}
		if err := policy.Await(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := persist(t.Context(), t, good, pod("a", "")); text != "pass: it is me" {
		t.Error(text)
	}
}

// TestSilent: a process that does not answer any more is killed, even if it reads nothing.
func TestSilent(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(c *Config) { c.pingInterval, c.answerLimit = 20*time.Millisecond, time.Second })
	p := compile(t, e, named("owner"))
	s, err := e.there()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	large := pod("a", "")
	large.Object.SetAnnotations(map[string]string{"large": strings.Repeat("x", 1<<20)}) // More than a pipe takes.
	limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := evaluate1(limited, p, large); got != "error: context deadline exceeded" {
		t.Errorf("while it does not answer: %s", got)
	}
	text, _ := persist(t.Context(), t, p, large)
	if text != "pass: it is me" {
		t.Error(text)
	}
	if later, err := e.there(); err != nil || later == s {
		t.Errorf("it is the same process: %v", err)
	}
}

// TestAnotherVersion: a process that comes back in another version has all policies compiled once more.
func TestAnotherVersion(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "version")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	e := newEngine(t, func(c *Config) { c.Env = append(c.Env, versionVariable+"="+file) })
	p := compile(t, e, named("owner"))
	write("two")
	s, err := e.there()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var away *policy.AwayError
	testkit.Eventually(t, "the policy is outdated", func() bool {
		_, err := p.Evaluate(t.Context(), pod("a", ""))
		return errors.As(err, &away) && policy.Outdated(p)
	})
	if err := policy.Away(p); err == nil {
		t.Error("an outdated policy is not away")
	}
	next := compile(t, e, named("owner"))
	if got := evaluate1(t.Context(), next, pod("a", "")); got != "pass: it is me" || next.Fingerprint() == p.Fingerprint() {
		t.Errorf("%s, fingerprint %s", got, next.Fingerprint())
	}
}
