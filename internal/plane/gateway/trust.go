// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/plane/aggregator"
	"github.com/docket-project/docket/internal/plane/authtrust"
)

const (
	trustNamespace = "kube-system"
	trustName      = authtrust.Name
	trustFolder    = "/api/v1/namespaces/" + trustNamespace + "/configmaps"
	// longestWatch of something that does not change; clients watch again.
	longestWatch = 30 * time.Minute
)

// trust serves the ConfigMap in which extension servers read whose X-Remote-* headers
// to trust: those of the gateway instead of the cluster's own aggregator. A server that is
// started with the gateway's kubeconfig then needs no flags.
type trust struct {
	config  *corev1.ConfigMap
	streams *aggregator.Streams
}

// newTrust returns the ConfigMap with what extension servers are to trust.
func newTrust(what authtrust.Trust, streams *aggregator.Streams) (*trust, error) {
	data, err := what.Data()
	if err != nil {
		return nil, err
	}
	// Other content has another version, so that clients notice the change.
	sum := sha256.Sum256(what.ProxyCA)
	return &trust{streams: streams, config: &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: trustNamespace, Name: trustName, UID: types.UID("docket-gateway"),
			ResourceVersion: strconv.FormatUint(uint64(binary.BigEndian.Uint32(sum[:]))+1, 10),
		},
		Data: data,
	}}, nil
}

// isAsked reports whether a request is about this ConfigMap and no other.
func (t *trust) isAsked(r *http.Request) bool {
	switch path, _ := strings.CutSuffix(r.URL.Path, "/"); path {
	case trustFolder + "/" + trustName:
		return true
	case trustFolder:
		return selectsTrust(r.URL.Query())
	}
	return false
}

func selectsTrust(query url.Values) bool {
	selector, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return false
	}
	name, exact := selector.RequiresExactMatch("metadata.name")
	return exact && name == trustName
}

func (t *trust) serve(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if watch, err := strconv.ParseBool(query.Get("watch")); err == nil && watch {
		t.watch(w, r, query)
		return
	}
	if path, _ := strings.CutSuffix(r.URL.Path, "/"); path != trustFolder {
		config := t.config.DeepCopy()
		writeObject(w, r, "v1", "ConfigMap", &config.TypeMeta, config)
		return
	}
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: t.config.ResourceVersion}, Items: []corev1.ConfigMap{*t.config}}
	writeObject(w, r, "v1", "ConfigMapList", &list.TypeMeta, list)
}

// watch sends the object to clients that don't have it, and nothing afterwards: it never
// changes while the gateway runs.
func (t *trust) watch(w http.ResponseWriter, r *http.Request, query url.Values) {
	w.Header().Set("Content-Type", acceptJSON)
	w.WriteHeader(http.StatusOK)
	initial, _ := strconv.ParseBool(query.Get("sendInitialEvents")) // Anything else is no wish for them.
	if initial || query.Get("resourceVersion") != t.config.ResourceVersion {
		send(w, "ADDED", t.config)
	}
	if initial {
		send(w, "BOOKMARK", &corev1.ConfigMap{
			TypeMeta: t.config.TypeMeta,
			ObjectMeta: metav1.ObjectMeta{
				ResourceVersion: t.config.ResourceVersion, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
			},
		})
	}
	_ = http.NewResponseController(w).Flush() // As send.
	timer := time.NewTimer(durationOf(query.Get("timeoutSeconds")))
	defer timer.Stop()
	ctx, done := t.streams.Add(r.Context())
	defer done()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// send writes an event. An error means that the client left, which the context says.
func send(w http.ResponseWriter, kind string, object *corev1.ConfigMap) {
	body, err := json.Marshal(object)
	if err == nil {
		_, _ = fmt.Fprintf(w, "{\"type\":%q,\"object\":%s}\n", kind, body)
	}
}

func durationOf(seconds string) time.Duration {
	n, err := strconv.Atoi(seconds)
	if err != nil || n <= 0 {
		return longestWatch
	}
	return min(time.Duration(n)*time.Second, longestWatch)
}
