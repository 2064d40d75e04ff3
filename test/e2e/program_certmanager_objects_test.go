// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/kit/testkit"
)

var (
	certificatesResource = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
	requestsResource     = certificatesResource.GroupVersion().WithResource("certificaterequests")
	ordersResource       = schema.GroupVersionResource{Group: "acme.cert-manager.io", Version: "v1", Resource: "orders"}
	challengesResource   = ordersResource.GroupVersion().WithResource("challenges")
)

// newIssuer is a manifest.
func newIssuer(kind, name, spec string) string {
	return fmt.Sprintf("{apiVersion: cert-manager.io/v1, kind: %s, metadata: {name: %s}, spec: {%s}}", kind, name, spec)
}

// newCertificate is a manifest of a certificate of an issuer, which is its kind and its name.
func newCertificate(name, issuer, spec string) string {
	kind, by, _ := strings.Cut(issuer, "/")
	return fmt.Sprintf("{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: %s}, spec: {secretName: %s, privateKey: {algorithm: ECDSA}, issuerRef: {kind: %s, name: %s}, %s}}",
		name, name, kind, by, spec)
}

func (m *certManagerRun) apply(manifests ...string) {
	m.t.Helper()
	m.kubectl.RunInput(m.t, strings.Join(manifests, "\n---\n"), "apply", "--server-side", "-f", "-")
}

// applyCertificates has so many certificates issued.
func (m *certManagerRun) applyCertificates(prefix string, n int) {
	m.t.Helper()
	var manifests []string
	for i := range n {
		manifests = append(manifests, newCertificate(fmt.Sprint(prefix, i), "Issuer/authority", fmt.Sprintf("dnsNames: [%s%d.example.com]", prefix, i)))
	}
	m.apply(manifests...)
}

// refused keeps what is said about a manifest that is not accepted.
func (m *certManagerRun) refused(step, manifest string, flags ...string) {
	m.t.Helper()
	result := m.kubectl.Try(m.t, manifest, append(flags, "create", "-f", "-")...)
	if result.Code == 0 {
		m.t.Fatalf("%s: it was accepted: %s", step, result.Stdout)
	}
	m.found[step] = map[string]any{"message": result.Stderr}
}

func (m *certManagerRun) list(resource schema.GroupVersionResource) []unstructured.Unstructured {
	m.t.Helper()
	return testkit.Must(m.client.Resource(resource).List(m.t.Context(), metav1.ListOptions{}))(m.t).Items
}

// after waits until so many certificates are ready and so many others are not, and nothing is left to do. It keeps all
// objects.
func (m *certManagerRun) after(step string, ready, others int) {
	m.t.Helper()
	var last map[string]any
	waitSettledWithin(m.t, certManagerPatience, time.Second, func() string {
		got := map[string]int{}
		for _, c := range m.list(certificatesResource) {
			got[stateOf(&c)]++
		}
		objects := m.objects()
		changed := cmp.Diff(last, objects)
		last = objects
		if got["ready"] != ready || got["waiting"] != others || got["issuing"] > 0 {
			return fmt.Sprintf("certificates are %v, want %d ready and %d waiting", got, ready, others)
		}
		return changed
	})
	m.t.Logf("%s: %d objects after %.1f s", step, len(last), time.Since(m.began).Seconds())
	m.began = time.Now()
	m.found[step] = last
}

// stateOf says whether a certificate is ready, waiting for its issuer, or in between.
func stateOf(c *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(c.Object, "status", "conditions")
	is := map[any]any{}
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		is[fields["type"]] = fields["status"]
	}
	switch {
	case is["Ready"] == "True" && is["Issuing"] == nil:
		return "ready"
	case is["Ready"] == "False" && is["Issuing"] == "True":
		return "waiting"
	}
	return "issuing"
}

// objects are all objects of cert-manager's kinds, by kind and name, without what differs from cluster to cluster.
func (m *certManagerRun) objects() map[string]any {
	m.t.Helper()
	var all []unstructured.Unstructured
	uids := map[string]string{}
	for _, kind := range certManagerKinds() {
		for _, object := range m.list(kind) {
			uids[string(object.GetUID())] = "uid of " + object.GetKind() + " " + unnumbered(object.GetName())
			all = append(all, object)
		}
	}
	found := map[string]any{}
	for _, object := range all {
		metadata, _ := object.Object["metadata"].(map[string]any)
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
			if metadata[field] == nil {
				m.t.Errorf("%s %s has no metadata.%s", object.GetKind(), object.GetName(), field)
			}
		}
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp"} {
			delete(metadata, field)
		}
		found[strings.Join([]string{object.GetKind(), object.GetNamespace(), unnumbered(object.GetName())}, "/")] = steady("", object.Object, uids)
	}
	return found
}

// random are fields and annotations with keys, with what is made with them, and with the number of a revision: from
// time to time cert-manager issues a certificate twice, with CRDs, too.
var random = regexp.MustCompile(`^(request|certificate|ca|key|lastPrivateKeyHash|nextPrivateKeySecretName|revision|` +
	`cert-manager\.io/(private-key-secret-name|certificate-revision))$`)

var (
	instant  = regexp.MustCompile(`^\d{4}-\d\d-\d\dT[0-9:]+Z$`)
	numbered = regexp.MustCompile(`^([a-z]+\d*)-\d+(-|$)`)
)

// unnumbered is a name without the number of a revision. Names of certificates have no hyphen.
func unnumbered(name string) string { return numbered.ReplaceAllString(name, "$1-N$2") }

// steady returns a copy of the JSON value of a field without keys and times, and with names for UIDs. Which of the
// controllers is the first to see an object decides on the order of its conditions, and on which of them is their
// manager: conditions are sorted, and all controllers are one manager.
func steady(field string, value any, uids map[string]string) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			name := key
			if uid := uids[strings.TrimSuffix(strings.TrimPrefix(key, `k:{"uid":"`), `"}`)]; uid != "" {
				name = uid
			}
			out[name] = steady(key, item, uids)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = steady(field, item, uids)
		}
		switch field {
		case "managedFields":
			return managed(out)
		case "conditions":
			slices.SortFunc(out, func(a, b any) int { return strings.Compare(textIn(a, "type"), textIn(b, "type")) })
		}
		return out
	case int64:
		if random.MatchString(field) {
			return "random"
		}
	case string:
		switch {
		case random.MatchString(field):
			return "random"
		case instant.MatchString(value):
			return "time"
		case uids[value] != "":
			return uids[value]
		}
		return unnumbered(value)
	}
	return value
}

// managed returns the paths of the fields of each manager.
func managed(entries []any) map[string][]string {
	paths := map[string][]string{}
	for _, entry := range entries {
		manager := textIn(entry, "manager")
		if strings.HasPrefix(manager, "cert-manager-") {
			manager = "cert-manager"
		}
		manager = strings.Join([]string{manager, textIn(entry, "operation"), textIn(entry, "apiVersion"), textIn(entry, "subresource")}, " ")
		fields, _ := entry.(map[string]any)
		paths[manager] = append(paths[manager], pathsIn("", fields["fieldsV1"])...)
	}
	for manager := range paths {
		slices.Sort(paths[manager])
		paths[manager] = slices.Compact(paths[manager])
	}
	return paths
}

// pathsIn returns the paths in a set of fields below a path.
func pathsIn(path string, set any) []string {
	fields, _ := set.(map[string]any)
	if len(fields) == 0 {
		return []string{path}
	}
	var paths []string
	for name, below := range fields {
		if name == "." {
			paths = append(paths, path)
		} else {
			paths = append(paths, pathsIn(path+"/"+name, below)...)
		}
	}
	return paths
}

// textIn is a field of a JSON object.
func textIn(object any, field string) string {
	fields, _ := object.(map[string]any)
	text, _ := fields[field].(string)
	return text
}

// startACME starts a server of certificates that never issues one: its orders wait for a challenge. What it says is
// the same for everybody.
func startACME(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	says := func(path string, status int, location string, body any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Replay-Nonce", "nonce")
			w.Header().Set("Content-Type", "application/json")
			if location != "" {
				w.Header().Set("Location", server.URL+location)
			}
			w.WriteHeader(status)
			if err := json.NewEncoder(w).Encode(body); err != nil {
				t.Log(err)
			}
		})
	}
	identifier := map[string]any{"type": "ip", "value": "127.0.0.1"}
	order := map[string]any{
		"status": "pending", "identifiers": []any{identifier},
		"authorizations": []any{server.URL + "/authorization"}, "finalize": server.URL + "/finalize",
	}
	challenge := map[string]any{"type": "http-01", "url": server.URL + "/challenge", "token": "token", "status": "pending"}
	says("/directory", http.StatusOK, "", map[string]any{
		"newNonce": server.URL + "/nonce", "newAccount": server.URL + "/account", "newOrder": server.URL + "/orders",
		"revokeCert": server.URL + "/revoke", "keyChange": server.URL + "/key",
	})
	says("/nonce", http.StatusOK, "", nil)
	says("/account", http.StatusCreated, "/account/1", map[string]any{"status": "valid"})
	says("/account/1", http.StatusOK, "", map[string]any{"status": "valid"})
	says("/orders", http.StatusCreated, "/order", order)
	says("/order", http.StatusOK, "/order", order)
	says("/authorization", http.StatusOK, "", map[string]any{"status": "pending", "identifier": identifier, "challenges": []any{challenge}})
	says("/challenge", http.StatusOK, "", challenge)
	return server.URL
}
