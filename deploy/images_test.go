// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// hub is a registry that has two images, of which it tells the digest to those who fetch a token first, as Docker Hub
// does.
type hub struct {
	address string
	digest  atomic.Pointer[string]
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v2/"), "/manifests/1.2.3")
	switch {
	case r.URL.Path == "/token":
		_, _ = fmt.Fprintf(w, `{"token":%q,"expires_in":300}`, r.FormValue("service")+" "+r.FormValue("scope")) // The script says what is missing.
	case r.Header.Get("Authorization") != "Bearer hub repository:"+name+":pull":
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+h.address+`/token",service="hub",scope="other"`)
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodHead && strings.Contains(r.Header.Get("Accept"), "image.index") && (name == "library/golang" || name == "team/base"):
		w.Header().Set("Docker-Content-Digest", *h.digest.Load())
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// TestBaseImages: hack/base-images.sh writes the digests that a registry tells it, and newer ones later. Its check
// names what is not pinned.
func TestBaseImages(t *testing.T) {
	t.Parallel()
	registry := &hub{}
	server := httptest.NewServer(registry)
	defer server.Close()
	registry.address = server.URL
	dir := t.TempDir()
	script, dockerfile := filepath.Join(dir, "hack", "base-images.sh"), filepath.Join(dir, "deploy", "Dockerfile")
	write := func(path, content string) {
		t.Helper()
		testkit.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	images := func(arguments ...string) (string, error) {
		command := exec.CommandContext(t.Context(), "bash", append([]string{script}, arguments...)...)
		command.Env = append(os.Environ(), "REGISTRY="+server.URL)
		output, err := command.CombinedOutput()
		return string(output), err
	}
	const content = "ARG GO_VERSION=1.2.3\nFROM --platform=$BUILDPLATFORM golang:${GO_VERSION}%[1]s AS build\nFROM team/base:1.2.3%[1]s\nFROM scratch\nCOPY --from=build /a /a\n"
	write(script, text(t, filepath.Join(root, "hack", "base-images.sh")))
	write(dockerfile, fmt.Sprintf(content, ""))
	output, err := images("check")
	if err != nil || strings.Count(output, "is not pinned by digest: run make base-images") != 2 {
		t.Errorf("check before: %v %s", err, output)
	}
	for _, digit := range []string{"1", "2"} {
		digest := "sha256:" + strings.Repeat(digit, 64)
		registry.digest.Store(&digest)
		if output, err := images(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		if diff := gocmp.Diff(fmt.Sprintf(content, "@"+digest), text(t, dockerfile)); diff != "" {
			t.Errorf("Dockerfile (-want +got):\n%s", diff)
		}
	}
	if output, err := images("check"); err != nil || output != "" {
		t.Errorf("check after: %v %s", err, output)
	}
	write(dockerfile, "FROM team/missing:1.2.3\n")
	if output, err := images(); err == nil || !strings.Contains(output, "has no digest for team/missing:1.2.3: HTTP/1.1 404") {
		t.Errorf("an image that the registry does not have: %v %s", err, output)
	}
}
