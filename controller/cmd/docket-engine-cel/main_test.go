// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginecmd"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/controller/internal/policy/remote"
)

const standIn = "TEST_RUN_DOCKET_ENGINE_CEL"

// TestMain lets the test binary stand in for the command.
func TestMain(m *testing.M) {
	if os.Getenv(standIn) != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestEngine starts the program as docket-controller does for --engine kyverno-cel=PATH.
func TestEngine(t *testing.T) {
	t.Parallel()
	settings, err := json.Marshal(enginecmd.Settings{ExceptionNamespaces: []string{policy.AllNamespaces}})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := remote.New(remote.Config{
		Name: policy.CELEngine, Path: os.Args[0], Args: []string{enginecmd.Name, policy.CELEngine}, Env: []string{standIn + "=1"}, Settings: settings,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	p := enginetest.Compile(t, engine, enginetest.ValidatingPolicy)
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod), ":pass")
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), ":fail")
	enginetest.Want(t, enginetest.Compile(t, engine, enginetest.ValidatingPolicy, enginetest.CELException), enginetest.Subject(t, enginetest.BadPod), "exception:skip")
	older := enginetest.CompileAny(t, engine, enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)))
	if problem := older.Problem(); problem == nil || !strings.Contains(problem.Error(), "ClusterPolicy is no kind of policy that can be evaluated") {
		t.Errorf("a ClusterPolicy: %v", problem)
	}
}

// TestNoClassicEngine: this program is not started as the classic engine.
func TestNoClassicEngine(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), os.Args[0], enginecmd.Name, policy.ClassicEngine)
	command.Env = append(os.Environ(), standIn+"=1")
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(output), "give one of kyverno-cel;") {
		t.Errorf("%v:\n%s", err, output)
	}
}

// surviving is what our packages in this program import of Kyverno's module. Nothing of it is of the classic engine,
// but the package with the results of all engines.
var surviving = []string{
	"pkg/admissionpolicy", "pkg/cel/...", "pkg/engine/api", "pkg/image/verification/cache", "pkg/image/verification/evaluator",
}

// TestDependencies: our code for the classic engine is not in the program, and what is there imports no package of
// Kyverno but those that survive the classic engine.
func TestDependencies(t *testing.T) {
	t.Parallel()
	const module, ours = "github.com/kyverno/kyverno/", "github.com/docket-project/docket/controller/internal/"
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if !strings.HasPrefix(words[0], ours) {
			continue
		}
		seen[strings.TrimPrefix(words[0], ours)] = true
		for _, imported := range words[1:] {
			of, theirs := strings.CutPrefix(imported, module)
			if theirs && !slices.ContainsFunc(surviving, func(pattern string) bool {
				folder, below := strings.CutSuffix(pattern, "/...")
				return of == folder || below && strings.HasPrefix(of, folder+"/")
			}) || strings.HasPrefix(imported, "github.com/kyverno/go-jmespath") {
				t.Errorf("%s imports %s", words[0], imported)
			}
		}
	}
	if !seen["policy/kyverno/cel"] || seen["policy/kyverno/classic"] || seen["policy/kyverno"] || seen["convert"] {
		t.Errorf("packages: %v", seen)
	}
}
