// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/internal/kit/testenv"
)

// The scale of the motivation of the resource cache's design document.
const (
	services  = 4000
	ingresses = 3000
	// asked is how many requests a second the webhook gets, for how long.
	asked    = 200
	askedFor = 15 * time.Second
	// called is how many requests are measured one after the other, where each takes long.
	called = 20
)

const virtualServices = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: virtualservices.networking.istio.io}
spec:
  group: networking.istio.io
  scope: Namespaced
  names: {plural: virtualservices, kind: VirtualService}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

const cachedEntries = `
apiVersion: kyverno.io/v2alpha1
kind: CachedContextEntry
metadata: {name: services}
spec: {resource: {kind: Service}}
---
apiVersion: kyverno.io/v2alpha1
kind: CachedContextEntry
metadata: {name: ingresses}
spec: {resource: {kind: Ingress}}
`

// motivation are the two policies of the document's motivation: a VirtualService goes to Services
// that exist, and an Ingress has hosts that no other one has. The data come from sources, one for
// each.
const motivation = `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: destinations}
spec:
  background: false
  rules:
  - name: exists
    match: {any: [{resources: {kinds: [VirtualService]}}]}
    validate:
      failureAction: Enforce
      message: no such Service
      foreach:
      - list: "request.object.spec.http[].route[].destination.host"
        context:
        - name: found
          %s
        deny: {conditions: {any: [{key: "{{ found }}", operator: Equals, value: 0}]}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: unique-hosts}
spec:
  background: false
  rules:
  - name: host
    match: {any: [{resources: {kinds: [Ingress], operations: [CREATE]}}]}
    context:
    - name: hosts
      %s
    validate:
      failureAction: Enforce
      message: another Ingress has the host
      deny: {conditions: {any: [{key: "{{ request.object.spec.rules[].host }}", operator: AnyIn, value: "{{ hosts }}"}]}}
`

const (
	found    = "items[?metadata.name=='{{ element }}' && metadata.namespace=='{{ request.namespace }}'] | length(@)"
	allHosts = "items[].spec.rules[].host"
)

// BenchmarkAdmission prints the table about the context cache at admission in docs/operate/benchmarks.md.
func BenchmarkAdmission(b *testing.B) {
	for b.Loop() {
		benchAdmission(b)
	}
}

// webhook is a controller that is asked by this process as kube-apiserver would.
type webhook struct {
	scanned
	url    string
	client *http.Client
}

func newWebhook(b *testing.B) *webhook {
	b.Helper()
	const namespace = "docket-system"
	w := &webhook{scanned: *newScanned(b)}
	w.cluster.EnsureNamespace(b, namespace)
	w.kubectl.Run(b, "create", "secret", "generic", "docket-controller-webhook", "-n", namespace)
	w.kubectl.Run(b, "apply", "-f", "../../../deploy/controller/admission/webhook.yaml")
	port := testenv.FreePort(b)
	w.url = fmt.Sprintf("https://127.0.0.1:%d", port)
	w.controller.Start(b, "--admission", fmt.Sprintf("--webhook-bind-address=127.0.0.1:%d", port), "--webhook-url="+w.url, "--webhook-namespace", namespace)
	w.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		MaxIdleConnsPerHost: 64, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	b.Cleanup(w.client.CloseIdleConnections)
	w.kubectl = w.cluster.Kubectl(b, "")
	return w
}

// fill makes Services and Ingresses in forty namespaces.
func (w *webhook) fill() {
	w.b.Helper()
	for i := range 40 {
		w.cluster.EnsureNamespace(w.b, fmt.Sprintf("app-%02d", i))
	}
	group, ctx := errgroup.WithContext(w.b.Context())
	group.SetLimit(podWriters)
	for i := range services {
		group.Go(func() error {
			object := newService(i)
			_, err := w.core.CoreV1().Services(object.Namespace).Create(ctx, object, metav1.CreateOptions{})
			return err
		})
	}
	for i := range ingresses {
		group.Go(func() error {
			object := newIngress(i)
			_, err := w.core.NetworkingV1().Ingresses(object.Namespace).Create(ctx, object, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		w.b.Fatal(err)
	}
}

// newService has no address of its own: the control plane has 254.
func newService(i int) *corev1.Service {
	name := fmt.Sprintf("service-%04d", i)
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: fmt.Sprintf("app-%02d", i%40), UID: types.UID(name),
			Labels:      map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/instance": "release", "team": fmt.Sprintf("team-%d", i%25)},
			Annotations: map[string]string{"example.com/owner": "platform", "prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
		},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app.kubernetes.io/name": name}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "metrics", Port: 9090}}},
	}
}

func newIngress(i int) *networkingv1.Ingress {
	name, prefix := fmt.Sprintf("ingress-%04d", i), networkingv1.PathTypePrefix
	return &networkingv1.Ingress{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: fmt.Sprintf("app-%02d", i%40), UID: types.UID(name),
			Labels:      map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/instance": "release"},
			Annotations: map[string]string{"nginx.ingress.kubernetes.io/proxy-body-size": "8m", "cert-manager.io/cluster-issuer": "production"},
		},
		Spec: networkingv1.IngressSpec{
			TLS: []networkingv1.IngressTLS{{Hosts: []string{name + ".example.com"}, SecretName: name}},
			Rules: []networkingv1.IngressRule{{Host: name + ".example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: fmt.Sprintf("service-%04d", i), Port: networkingv1.ServiceBackendPort{Number: 80}}}}},
			}}}},
		},
	}
}

// question is the review of a creation, and the answer that is right.
type question struct {
	review  []byte
	allowed bool
}

func (w *webhook) question(kind metav1.GroupVersionKind, plural, namespace, name string, object any, allowed bool) question {
	w.b.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		w.b.Fatal(err)
	}
	resource := metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: plural}
	review, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: types.UID(name), Kind: kind, Resource: resource, RequestKind: &kind, RequestResource: &resource,
			Name: name, Namespace: namespace, Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw},
		},
	})
	if err != nil {
		w.b.Fatal(err)
	}
	return question{review, allowed}
}

// destination asks for a VirtualService, every second one with a Service that does not exist.
func (w *webhook) destination(i int) question {
	host, allowed := newService(i%services).Name, true
	if i%2 == 1 {
		host, allowed = fmt.Sprintf("missing-%d", i), false
	}
	name, namespace := fmt.Sprintf("route-%d", i), newService(i%services).Namespace
	return w.question(metav1.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"}, "virtualservices", namespace, name, map[string]any{
		"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": map[string]any{"name": name, "namespace": namespace, "uid": name},
		"spec": map[string]any{"hosts": []any{name}, "http": []any{map[string]any{"route": []any{map[string]any{"destination": map[string]any{"host": host}}}}}},
	}, allowed)
}

// nothing asks for a ConfigMap, about which there is no policy: it measures only the way there and
// back.
func (w *webhook) nothing(i int) question {
	name := fmt.Sprintf("map-%d", i)
	return w.question(metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", "default", name, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "default", "uid": name},
	}, true)
}

// host asks for an Ingress, every second one with a host that another one has.
func (w *webhook) host(i int) question {
	object, allowed := newIngress(i%ingresses), false
	object.Name = fmt.Sprintf("new-%d", i)
	object.UID = types.UID(object.Name)
	if i%2 == 1 {
		object.Spec.Rules[0].Host, allowed = object.Name+".example.com", true
	}
	return w.question(metav1.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, "ingresses", object.Namespace, object.Name, object, allowed)
}

// dry makes dry runs of requests.
func dry(of func(i int) question) func(i int) question {
	return func(i int) question {
		q := of(i)
		q.review = bytes.Replace(q.review, []byte(`"operation":`), []byte(`"dryRun":true,"operation":`), 1)
		return q
	}
}

var errWrongAnswer = errors.New("the answer is wrong")

// ask returns how long the answer took. An answer that is not the right one is an error.
func (w *webhook) ask(ctx context.Context, q question) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/validate/fail?timeout=30s", bytes.NewReader(q.review))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	started := time.Now()
	answer, err := w.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	took := time.Since(started)
	var review admissionv1.AdmissionReview
	if err := errors.Join(err, json.Unmarshal(data, &review)); err != nil || answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %.200s: %w", answer.Status, data, err)
	}
	if review.Response == nil || review.Response.Allowed != q.allowed {
		return 0, fmt.Errorf("%w: %.500s to %.300s", errWrongAnswer, data, q.review)
	}
	return took, nil
}

// rate asks 200 times a second, at random moments, whether or not there were answers. It returns the
// times from the moment that a request was sent.
func (w *webhook) rate(of func(i int) question) []time.Duration {
	w.b.Helper()
	total := int(askedFor.Seconds()) * asked
	questions := []question{}
	for i := range total {
		questions = append(questions, of(i))
	}
	var mu sync.Mutex
	times := []time.Duration{}
	group, ctx := errgroup.WithContext(w.b.Context())
	next := time.Now()
	for _, q := range questions {
		next = next.Add(time.Duration(rand.ExpFloat64() * float64(time.Second) / asked))
		pause(w.b, time.Until(next))
		group.Go(func() error {
			took, err := w.ask(ctx, q)
			mu.Lock()
			defer mu.Unlock()
			times = append(times, took)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		w.b.Fatal(err)
	}
	return times
}

// sequence asks one after the other.
func (w *webhook) sequence(of func(i int) question) []time.Duration {
	w.b.Helper()
	times := []time.Duration{}
	for i := range called {
		took, err := w.ask(w.b.Context(), of(i))
		if err != nil {
			w.b.Fatal(err)
		}
		times = append(times, took)
	}
	return times
}

func pause(b *testing.B, d time.Duration) {
	b.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.Context().Done():
	}
}

func quantiles(times []time.Duration) string {
	slices.Sort(times)
	at := func(q float64) float64 {
		return times[min(int(q*float64(len(times))), len(times)-1)].Seconds() * 1e3
	}
	return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, longest %.1f ms", at(0.5), at(0.99), at(1))
}

// answers waits until the webhook answers as it should, and returns how long that took.
func (w *webhook) answers(q question) time.Duration {
	w.b.Helper()
	started := time.Now()
	if err := wait.PollUntilContextTimeout(w.b.Context(), time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := w.ask(ctx, q)
		if errors.Is(err, errWrongAnswer) {
			return false, nil
		}
		return err == nil, err
	}); err != nil {
		w.b.Fatal(err)
	}
	return time.Since(started)
}

func benchAdmission(b *testing.B) {
	w := newWebhook(b)
	w.kubectl.RunInput(b, virtualServices, "apply", "-f", "-")
	w.fill()
	w.audit = newAudit(b, w.cluster, w.docket)
	w.audit.keep(serviceResource, serviceKeys+"app-", services)
	w.audit.keep(ingressResource, ingressKeys, ingresses)
	before := status(b, w.controller.PID(), "VmRSS")
	started := time.Now()
	w.kubectl.RunInput(b, cachedEntries, "apply", "-f", "-")
	for w.controller.Metric(b, "docket_controller_context_cache_objects", nil) < services+ingresses {
		pause(b, 10*time.Millisecond)
	}
	row("both entries: from kubectl apply until they are loaded", "%.2f s", time.Since(started).Seconds())

	source := func(entry, expression string) string {
		return fmt.Sprintf("cachedContextEntry: {name: %s, jmespath: %q}", entry, expression)
	}
	w.kubectl.RunInput(b, fmt.Sprintf(motivation, source("services", found), source("ingresses", allHosts)), "apply", "-f", "-")
	w.answers(w.destination(1))
	w.answers(w.host(0))
	after := status(b, w.controller.PID(), "VmRSS")
	row("memory of the process", "%s before, %s with both entries in use", megabytes(before), megabytes(after))

	// Of dry runs no results are kept: no other process has anything to do.
	row("nothing to evaluate, 200 dry runs a second", "%s", quantiles(w.rate(dry(w.nothing))))
	row("destination, 200 dry runs a second", "%s", quantiles(w.rate(dry(w.destination))))
	row("unique host, 200 dry runs a second", "%s", quantiles(w.rate(dry(w.host))))
	row("destination, 200 a second", "%s", quantiles(w.rate(w.destination)))
	row("unique host, 200 a second", "%s", quantiles(w.rate(w.host)))
	stop := w.churn()
	row("destination, 200 a second, while 20 Services and Ingresses a second change", "%s", quantiles(w.rate(w.destination)))
	row("unique host, 200 a second, while 20 Services and Ingresses a second change", "%s", quantiles(w.rate(w.host)))
	stop()
	w.visible()

	// Without policies everything is allowed: so it can be told which ones are in use.
	w.kubectl.Run(b, "delete", "clusterpolicy", "--all")
	for _, q := range []question{w.destination(1), w.host(0)} {
		q.allowed = true
		w.answers(q)
	}
	call := func(path, expression string) string {
		return fmt.Sprintf("apiCall: {urlPath: %q, jmesPath: %q}", path, expression)
	}
	w.kubectl.RunInput(b, fmt.Sprintf(motivation, call("/api/v1/services", found), call("/apis/networking.k8s.io/v1/ingresses", allHosts)), "apply", "-f", "-")
	w.answers(w.destination(1))
	w.answers(w.host(0))
	row("destination by API calls, one at a time", "%s", quantiles(w.sequence(w.destination)))
	row("unique host by API calls, one at a time", "%s", quantiles(w.sequence(w.host)))
	w.end()
}
