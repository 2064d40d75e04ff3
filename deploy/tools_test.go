// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deploy_test checks what is in this folder: that kustomize and Helm make the
// same objects, that pods and roles are as narrow as docs/start/install.md says, and that
// alerts and dashboard name metrics that exist. test/e2e shows the manifests to a real
// kube-apiserver.
package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// root of the repository.
const root = ".."

// toolTimeout bounds what a program does with manifests.
const toolTimeout = 5 * time.Minute

// Programs that tests here run.
const (
	helmTool      = "helm"
	kustomizeTool = "kustomize"
	promTool      = "promtool"
)

// noted opens each folder here: go test takes a result from its cache unless what the test has opened has changed,
// and does not know what programs read.
var noted = sync.OnceValue(func() error {
	return filepath.WalkDir(".", func(_ string, _ fs.DirEntry, err error) error { return err })
})

// command runs a program and returns its standard output; the error holds the rest.
func command(ctx context.Context, name string, arguments ...string) ([]byte, error) {
	if err := noted(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, arguments...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return output, fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(name), strings.Join(arguments, " "), err, output, stderr.Bytes())
	}
	return output, nil
}

// run runs a program that hack/build.sh builds, and fails the test unless it succeeds.
func run(t testing.TB, program string, arguments ...string) []byte {
	t.Helper()
	return testkit.Must(command(t.Context(), testenv.Program(t, program), arguments...))(t)
}

// objects are rendered manifests by kind and name.
type objects map[string]*unstructured.Unstructured

func kustomize(t testing.TB, folder string) objects {
	t.Helper()
	return parse(t, run(t, kustomizeTool, "build", folder))
}

// helm renders the chart with --set arguments.
func helm(t testing.TB, namespace string, values ...string) objects {
	t.Helper()
	arguments := []string{"template", "docket", "chart", "--namespace", namespace}
	for _, value := range values {
		arguments = append(arguments, "--set", value)
	}
	return parse(t, run(t, helmTool, arguments...))
}

func parse(t testing.TB, manifests []byte) objects {
	t.Helper()
	all := objects{}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		var object unstructured.Unstructured
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, manifests)
		}
		if len(object.Object) == 0 {
			continue // Comments only.
		}
		key := object.GetKind() + " " + object.GetName()
		if all[key] != nil {
			t.Fatalf("there are two of %s", key)
		}
		all[key] = &object
	}
}

// workload is the StatefulSet or Deployment.
func (o objects) workload(t testing.TB) *unstructured.Unstructured {
	t.Helper()
	for _, kind := range []string{"StatefulSet", "Deployment"} {
		if found := o[kind+" docket"]; found != nil {
			return found
		}
	}
	t.Fatal("there is neither a StatefulSet nor a Deployment")
	return nil
}
