// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// upstreamOpenAPI is the OpenAPI of the upstream cluster as the library merges it with that of
// extension servers: without what is registered here, since the library can't merge a path that
// comes twice (v2), and takes any of several documents of one group version (v3).
//
// Unlike documents of extension servers they are not checked, since the cluster is trusted, and
// those of version 3 are not kept: there are hundreds of them.
type upstreamOpenAPI struct {
	fetcher *fetcher
	// isRegistered reports whether a group version is served in the cluster's place.
	isRegistered func(schema.GroupVersion) bool
	// documents passes requests on with the aggregator's own credentials.
	documents *UpstreamProxy

	// What the last answer about v2 was made of. Its content is with the aggregator only:
	// it is large.
	mu       sync.Mutex
	upstream string
	versions []schema.GroupVersion
	removed  string
	etag     string
}

// ServeHTTP implements http.Handler.
func (o *upstreamOpenAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch name, found := strings.CutPrefix(r.URL.Path, "/openapi/v3"); {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "only GET is served", http.StatusMethodNotAllowed)
	case r.URL.Path == "/openapi/v2":
		o.serveV2(w, r)
	case found && strings.Trim(name, "/") == "":
		o.serveRoot(w, r)
	case found:
		o.serveVersion(w, r, strings.Trim(name, "/"))
	default:
		http.NotFound(w, r)
	}
}

// GroupVersionOf returns the group version of a path of the API; false if it has none,
// as that of a group alone.
func GroupVersionOf(path string) (schema.GroupVersion, bool) {
	parts := strings.SplitN(strings.Trim(path, "/"), "/", 4)
	if len(parts) < 3 || parts[0] != "apis" {
		return schema.GroupVersion{}, false
	}
	return schema.GroupVersion{Group: parts[1], Version: parts[2]}, true
}

// drops reports whether a path of a document has to go.
func (o *upstreamOpenAPI) drops(path string) bool {
	if strings.Trim(path, "/") == "apis/"+apiregistration.GroupName {
		return true
	}
	gv, ok := GroupVersionOf(path)
	return ok && o.isRegistered(gv)
}

// serveV2 answers with the tag of the answer before, as long as the cluster's document
// and the registrations are the same; also while the cluster is away: what the
// aggregator has is better than nothing.
func (o *upstreamOpenAPI) serveV2(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known, tag := o.etag != "" && r.Header.Get("If-None-Match") == o.etag, ""
	if known && o.removedOf(o.versions) == o.removed {
		tag = o.upstream
	}
	body, err := o.readV2(r.Context(), tag)
	switch {
	case errors.Is(err, errUnchanged) || err != nil && known:
		w.WriteHeader(http.StatusNotModified)
	case err != nil:
		writeError(w, r, Unavailable("OpenAPI of the cluster: %v", err))
	default:
		writeJSON(w, o.etag, body)
	}
}

func writeJSON(w http.ResponseWriter, etag string, body []byte) {
	w.Header().Set("Content-Type", acceptJSON)
	if etag != "" {
		w.Header().Set("Etag", etag)
	}
	_, _ = w.Write(body) //nolint:gosec // JSON. A client that left needs nothing.
}

// readV2 returns the filtered document; errUnchanged if it still has the tag.
func (o *upstreamOpenAPI) readV2(ctx context.Context, tag string) ([]byte, error) {
	answer, err := o.fetcher.get(ctx, "/openapi/v2", acceptJSON, tag, maxUpstreamOpenAPI)
	if err != nil {
		return nil, err
	}
	if answer.status == http.StatusNotModified && tag != "" {
		return nil, errUnchanged
	}
	if answer.status != http.StatusOK {
		return nil, fmt.Errorf("/openapi/v2 answers %d: %s", answer.status, excerpt(answer.body))
	}
	body, versions, err := o.filterV2(answer.body)
	if err != nil {
		return nil, err
	}
	o.upstream, o.versions, o.removed = answer.etag, versions, o.removedOf(versions)
	o.etag = tagOf(answer.etag, answer.body, o.removed)
	return body, nil
}

// removedOf returns which of the cluster's group versions are registered here.
func (o *upstreamOpenAPI) removedOf(versions []schema.GroupVersion) string {
	var removed []string
	for _, gv := range versions {
		if o.isRegistered(gv) {
			removed = append(removed, gv.String())
		}
	}
	return strings.Join(removed, " ")
}

// tagOf returns the tag of a document from that of the cluster and from what was removed.
func tagOf(upstream string, body []byte, removed string) string {
	if upstream == "" {
		sum := sha256.Sum256(body)
		upstream = hex.EncodeToString(sum[:])
	}
	sum := sha256.Sum256([]byte(upstream + "\n" + removed))
	return "\"" + hex.EncodeToString(sum[:]) + "\""
}

// filterV2 removes paths. It returns all group versions of the document, in order.
func (o *upstreamOpenAPI) filterV2(body []byte) ([]byte, []schema.GroupVersion, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, nil, fmt.Errorf("parse: %w", err)
	}
	var paths map[string]json.RawMessage
	if err := json.Unmarshal(fields["paths"], &paths); err != nil {
		return nil, nil, fmt.Errorf("parse the paths: %w", err)
	}
	versions := map[schema.GroupVersion]bool{}
	for path := range paths {
		if gv, ok := GroupVersionOf(path); ok {
			versions[gv] = true
		}
		if o.drops(path) {
			delete(paths, path)
		}
	}
	var err error
	if fields["paths"], err = json.Marshal(paths); err != nil {
		return nil, nil, err
	}
	filtered, err := json.Marshal(fields)
	return filtered, slices.SortedFunc(maps.Keys(versions), func(a, b schema.GroupVersion) int {
		return strings.Compare(a.String(), b.String())
	}), err
}

// root is the list of documents of version 3.
type root struct {
	Paths map[string]json.RawMessage `json:"paths"`
}

func (o *upstreamOpenAPI) serveRoot(w http.ResponseWriter, r *http.Request) {
	answer, err := o.fetcher.get(r.Context(), "/openapi/v3", acceptJSON, "", maxUpstreamDiscovery)
	if err == nil && answer.status != http.StatusOK {
		err = fmt.Errorf("/openapi/v3 answers %d: %s", answer.status, excerpt(answer.body))
	}
	var documents root
	if err == nil {
		err = json.Unmarshal(answer.body, &documents)
	}
	if err != nil {
		writeError(w, r, Unavailable("OpenAPI of the cluster: %v", err))
		return
	}
	maps.DeleteFunc(documents.Paths, func(path string, _ json.RawMessage) bool { return o.drops(path) })
	body, err := json.Marshal(documents)
	if err != nil {
		writeError(w, r, apierrors.NewInternalError(err))
		return
	}
	writeJSON(w, "", body)
}

// serveVersion passes on one document. Its address has a hash, by which clients keep
// it: the aggregator does not have to.
func (o *upstreamOpenAPI) serveVersion(w http.ResponseWriter, r *http.Request, name string) {
	if o.drops(name) {
		// The library's list of what the cluster has is a second older than the registration.
		writeError(w, r, Unavailable("who serves %s is changing; try again", name))
		return
	}
	o.documents.Serve(w, r, dropCaller) // The aggregator asks, not who asked it.
}

// upstreamDelegate is the upstream cluster as the library sees it: OpenAPI documents, and the end
// of all paths that nobody else answers.
type upstreamDelegate struct {
	genericapiserver.DelegationTarget
}

func newUpstreamDelegate(documents http.Handler) genericapiserver.DelegationTarget {
	return upstreamDelegate{genericapiserver.NewEmptyDelegateWithCustomHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/openapi/") {
			documents.ServeHTTP(w, r)
			return
		}
		if _, ok := GroupVersionOf(r.URL.Path); ok {
			// The registration went away after the request was taken for that of an extension
			// server. A 404 would make controllers believe that objects are gone.
			writeError(w, r, Unavailable("who serves %s is changing; try again", r.URL.Path))
			return
		}
		writeError(w, r, apierrors.NewGenericServerResponse(http.StatusNotFound, strings.ToLower(r.Method), schema.GroupResource{}, "", "", 0, true))
	}))}
}

// ListedPaths implements genericapiserver.DelegationTarget. Without any, the library would
// not ask for OpenAPI documents.
func (upstreamDelegate) ListedPaths() []string { return []string{"/openapi/v2", "/openapi/v3"} }
