// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/controller/internal/policy/registry"
	"github.com/docket-project/docket/controller/internal/policy/registry/registrytest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const (
	// maxOutsideBytes is how much more memory a process may need for answers that are too large.
	maxOutsideBytes = raceMemory * (128 << 20)
	outsideVariable = "DOCKET_TEST_OUTSIDE"
	// together is how many evaluations read at one time.
	together = 12
)

// outsideCase is a policy that reads more than it may.
type outsideCase struct {
	policy string
	// image is that of pod i; HOST stands for the registry.
	image string
	// bound is what the result says; empty for answers that may be read.
	bound string
}

// TestOutside promises that a process takes little memory for what policies have it read, and says which bound it was:
// one evaluation alone, and twelve at a time, each case in a process of its own.
func TestOutside(t *testing.T) {
	for name, test := range outsideCases(t) {
		for _, count := range []int{1, together} {
			if count == 1 && testing.Short() {
				continue
			}
			t.Run(fmt.Sprint(name, "/", count), func(t *testing.T) {
				got := burstOf(t, "TestOutsideProcess", fmt.Sprintf("%s=%d %s", outsideVariable, count, name))
				if got.Bytes > maxOutsideBytes {
					t.Errorf("it takes %d MiB", got.Bytes>>20)
				}
				if len(got.Results) < count { // A rule may give one for each image.
					t.Fatalf("%d results, want %d", len(got.Results), count)
				}
				for _, result := range got.Results {
					if test.bound == "" && result.Outcome != report.OutcomeFail || test.bound != "" && (result.Outcome != report.OutcomeError || !strings.Contains(result.Message, test.bound)) {
						t.Errorf("%.500v, want an error with %q", result, test.bound)
					}
				}
				t.Logf("%d MiB: %.200s", got.Bytes>>20, got.Results[0].Message)
			})
		}
	}
}

// TestOutsideProcess is no test by itself: see [TestOutside].
func TestOutsideProcess(t *testing.T) {
	text := os.Getenv(outsideVariable)
	if text == "" {
		t.Skip("it is a part of TestOutside")
	}
	number, name, _ := strings.Cut(text, " ")
	count := testkit.Must(strconv.Atoi(number))(t)
	server := httptest.NewServer(http.HandlerFunc(answerOutside))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	test := outsideCases(t)[name]
	p := enginetest.Compile(t, outsideCompiler(t, server.URL), test.policy)
	var subjects []policy.Subject
	for i := range count {
		subjects = append(subjects, podOf(t, strings.NewReplacer("HOST", host, "NUMBER", strconv.Itoa(i)).Replace(test.image)))
	}
	before := idle(t)
	answers := make(chan []policy.Result)
	for _, subject := range subjects {
		go func() {
			results, err := p.Evaluate(t.Context(), subject)
			if err != nil {
				t.Error(err)
			}
			answers <- results
		}()
	}
	out := burst{}
	for range subjects {
		out.Results = append(out.Results, <-answers...)
	}
	out.Bytes = peak(t) - before
	tell(out)
}

func outsideCompiler(t *testing.T, address string) *Compiler {
	t.Helper()
	config := testkit.Must(reach.Guarded(&rest.Config{Host: address, QPS: -1}))(t)
	return compilerWith(t, config, base.Config{
		Images:  &base.Images{Registries: registry.NewClient(registry.Config{Timeout: time.Minute}), AllowInsecure: true},
		Timeout: 5 * time.Minute,
	})
}

func outsideCases(t *testing.T) map[string]outsideCase {
	t.Helper()
	key := registrytest.NewKey(t)
	namespaced := func(text string) string {
		return strings.NewReplacer("kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy", "kind: ClusterPolicy", "kind: Policy", "{name: p", "{namespace: team, name: p").Replace(text)
	}
	cel := func(expression string) string { return namespaced(celBomb(nil, expression)) }
	configured := callRule("x")
	configured = strings.Replace(configured, "apiCall: x", `imageRegistry: {reference: "{{ request.object.spec.containers[0].image }}"}`, 1)
	const manifest, tokens, list = "a manifest has more than 4 MiB", "once it is decoded", "has more than 16 MiB"
	return map[string]outsideCase{
		"verified":       {verifyRule(key, ""), "HOST/many27/NUMBER:v1", manifest},
		"verified, edge": {verifyRule(key, ""), "HOST/many3/NUMBER:v1", tokens},
		"verified, gzip": {verifyRule(key, ""), "HOST/gzip/NUMBER:v1", manifest},
		"metadata":       {cel("image.GetMetadata(object.spec.containers[0].image) == null"), "HOST/many27/NUMBER:v1", manifest},
		"metadata, edge": {cel("image.GetMetadata(object.spec.containers[0].image) == null"), "HOST/many3/NUMBER:v1", tokens},
		"configuration":  {configured, "HOST/config/NUMBER:v1", "a configuration or an attestation has more than 8 MiB"},
		"list":           {cel("resource.List('v1', 'configmaps').items.size() == 0"), "x", list},
		"list of values": {cel("resource.List('v1', 'secrets').items.size() == 0"), "x", tokens},
		"large list":     {cel("resource.List('v1', 'services').items.size() == 0"), "x", ""},
		"urlPath":        {namespaced(callRule(`{urlPath: "/api/v1/namespaces/team/configmaps"}`)), "x", list},
		"urlPath, all":   {callRule(`{urlPath: "/api/v1/configmaps"}`), "x", "has more than 32 MiB"},
	}
}

// configBytes is the length of the configuration that the registry has.
const configBytes = 14 << 20

// answerOutside is a registry, and a cluster. Its answers are made while they are sent.
func answerOutside(w http.ResponseWriter, r *http.Request) {
	out := bufio.NewWriterSize(w, 64<<10)
	defer func() { _ = out.Flush() }()
	w.Header().Set("Content-Type", "application/json")
	path := r.URL.Path
	switch {
	case path == "/v2/":
	case strings.Contains(path, "/sha256-"): // Signatures are there, too.
		w.WriteHeader(http.StatusNotFound)
	case strings.Contains(path, "/many27/"):
		writeManifest(out, 27<<20)
	case strings.Contains(path, "/many3/"):
		writeManifest(out, 39<<20/10)
	case strings.Contains(path, "/gzip/"):
		w.Header().Set("Content-Encoding", "gzip")
		zipped := gzip.NewWriter(out)
		writeManifest(zipped, 100<<20)
		_ = zipped.Close()
	case strings.Contains(path, "/config/") && strings.Contains(path, "/manifests/"):
		sum := sha256.New()
		writeConfig(sum)
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		fmt.Fprintf(out, `{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":%d,"digest":"sha256:%s"},"layers":[]}`, configBytes, hex.EncodeToString(sum.Sum(nil)))
	case strings.Contains(path, "/blobs/"):
		writeConfig(out)
	case strings.HasSuffix(path, "/configmaps"), strings.HasSuffix(path, "/services"):
		items := 100
		if strings.HasSuffix(path, "/services") {
			items = 15
		}
		fmt.Fprint(out, `{"apiVersion":"v1","kind":"ConfigMapList","items":[`)
		writeItems(out, items, func(i int) error {
			fmt.Fprintf(out, `{"metadata":{"name":"c%d"},"data":{"x":"`, i)
			for range 900 {
				_, _ = out.WriteString(block)
			}
			_, err := out.WriteString(`"}}`)
			return err
		})
		fmt.Fprint(out, `]}`)
	case strings.HasSuffix(path, "/secrets"):
		fmt.Fprint(out, `{"apiVersion":"v1","kind":"SecretList","items":[{"metadata":{"name":"s"},"data":[`)
		writeItems(out, 7<<20, func(int) error { return out.WriteByte('1') })
		fmt.Fprint(out, `]}]}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// block is a part of long texts.
var block = strings.Repeat("x", 1<<10)

// writeItems ends early if nobody reads any more.
func writeItems(out io.Writer, count int, one func(i int) error) {
	for i := range count {
		if i > 0 {
			_, _ = io.WriteString(out, ",")
		}
		if err := one(i); err != nil {
			return
		}
	}
}

// writeManifest writes one whose annotations are short and many.
func writeManifest(out io.Writer, bytes int) {
	fmt.Fprint(out, `{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":2,"digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},"layers":[],"annotations":{`)
	writeItems(out, bytes/12, func(i int) error {
		_, err := fmt.Fprintf(out, `"%x":""`, 0x100000+i)
		return err
	})
	fmt.Fprint(out, `}}`)
}

// writeConfig writes a configuration with one label.
func writeConfig(out io.Writer) {
	const before, after = `{"architecture":"amd64","os":"linux","config":{"Labels":{"x":"`, `"}},"rootfs":{"type":"layers","diff_ids":[]}}`
	fmt.Fprint(out, before)
	for left := configBytes - len(before) - len(after); left > 0; left -= len(block) {
		fmt.Fprint(out, block[:min(left, len(block))])
	}
	fmt.Fprint(out, after)
}
