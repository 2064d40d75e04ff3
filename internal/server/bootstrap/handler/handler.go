// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handler serves under /bootstrap what `docket bootstrap` prints: the objects with
// which an administrator registers a server. It keeps no state.
package handler

import (
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/server/bootstrap"
)

// rootPath is where the objects are shown that register this server. It is no
// path of the API, so that it is reached on the server's own port only, and who may
// get it is decided by that path: nonResourceURLs in RBAC.
const rootPath = "/bootstrap"

// CAFlag is the flag of servers that names the file.
const CAFlag = "bootstrap-ca-file"

// handler answers what `docket bootstrap` prints, byte by byte.
type handler struct {
	parameters func() bootstrap.Parameters
	bundle     func() ([]byte, error)
	serializer runtime.NegotiatedSerializer
}

// BundleOf returns a function for [Install] that reads a file; nil if its name is empty.
func BundleOf(caFile string, clock clock.PassiveClock) func() ([]byte, error) {
	if caFile == "" {
		return nil
	}
	return func() ([]byte, error) {
		bundle, err := bootstrap.ReadCABundle(caFile, clock.Now())
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", CAFlag, err)
		}
		return bundle, nil
	}
}

// Install adds the paths for the API groups that parameters has. It is asked at each request, and so is bundle for the
// authorities of the serving certificate, as PEM; bundle is nil if nobody knows them.
func Install(paths *mux.PathRecorderMux, parameters func() bootstrap.Parameters, bundle func() ([]byte, error), serializer runtime.NegotiatedSerializer) {
	h := &handler{parameters: parameters, bundle: bundle, serializer: serializer}
	paths.HandleFunc(rootPath, h.index)
	for _, group := range h.groups() {
		paths.HandleFunc(rootPath+"/"+group, h.show) // So that the server's index has the path.
	}
	paths.UnlistedHandlePrefix(rootPath+"/", http.HandlerFunc(h.show))
}

func (h *handler) groups() []string {
	return slices.Compact(slices.Sorted(slices.Values(h.parameters().Groups)))
}

func (h *handler) index(w http.ResponseWriter, r *http.Request) {
	if !h.readOnly(w, r) {
		return
	}
	var list metav1.RootPaths
	for _, group := range h.groups() {
		list.Paths = append(list.Paths, rootPath+"/"+group)
	}
	responsewriters.WriteRawJSON(http.StatusOK, list, w)
}

func (h *handler) unknown(w http.ResponseWriter, r *http.Request, group string) {
	h.fail(w, r, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: fmt.Sprintf("API group %q is not served here: choose from %s", group, strings.Join(h.groups(), ", ")),
	}})
}

func (h *handler) show(w http.ResponseWriter, r *http.Request) {
	group := strings.TrimPrefix(r.URL.Path, rootPath+"/")
	if !slices.Contains(h.groups(), group) {
		h.unknown(w, r, group)
		return
	}
	if !h.readOnly(w, r) {
		return
	}
	parameters := h.parameters()
	parameters.Groups = []string{group}
	format, err := parseBootstrap(r, &parameters)
	if err != nil {
		h.fail(w, r, apierrors.NewBadRequest(err.Error()))
		return
	}
	if h.bundle == nil {
		warning.AddWarning(r.Context(), "", bootstrap.NoCABundle+"; the server would add one with --"+CAFlag)
	} else if parameters.CABundle, err = h.bundle(); err != nil {
		h.fail(w, r, apierrors.NewInternalError(err))
		return
	}
	data, err := bootstrap.Print(parameters, format)
	if err != nil {
		h.fail(w, r, apierrors.NewInternalError(err))
		return
	}
	w.Header().Set("Content-Type", "application/"+string(format))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// A client that has disconnected doesn't need the answer.
	_, _ = w.Write(data) //nolint:gosec // YAML or JSON of names that were checked, and never taken for HTML.
}

func (h *handler) readOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	h.fail(w, r, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
		Message: "this server registers nothing itself: get the objects, and create them in the cluster",
	}})
	return false
}

func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	responsewriters.ErrorNegotiated(err, h.serializer, schema.GroupVersion{}, w, r)
}

// parseBootstrap reads the query of a request into p. All that is wrong is said at once.
func parseBootstrap(r *http.Request, p *bootstrap.Parameters) (bootstrap.Format, error) {
	format := acceptedFormat(r.Header.Get("Accept"))
	setters := map[string]func(string) error{
		bootstrap.NamespaceParameter: func(value string) error { p.Namespace = value; return nil },
		bootstrap.CreateNamespaceParameter: func(value string) (err error) {
			if p.CreateNamespace, err = strconv.ParseBool(value); err != nil {
				return &bootstrap.ParameterError{Name: bootstrap.CreateNamespaceParameter, Reason: fmt.Sprintf("%q can't be used: give true or false", value)}
			}
			return nil
		},
		bootstrap.ServiceParameter: func(value string) error { p.Service = value; return nil },
		bootstrap.HTTPSPortParameter: func(value string) error {
			port, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return &bootstrap.ParameterError{Name: bootstrap.HTTPSPortParameter, Reason: fmt.Sprintf("%q can't be used: give the number of a port", value)}
			}
			p.HTTPSPort = int32(port)
			return nil
		},
		bootstrap.OutputParameter: func(value string) (err error) { format, err = bootstrap.ParseFormat(value); return err },
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return format, fmt.Errorf("query: %w", err)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(query)) {
		set, known := setters[name]
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("%s: is no parameter; there are %s", name, strings.Join(slices.Sorted(maps.Keys(setters)), ", ")))
		case len(query[name]) > 1:
			errs = append(errs, fmt.Errorf("%s: is given %d times; give it once", name, len(query[name])))
		default:
			errs = append(errs, set(query[name][0]))
		}
	}
	return format, errors.Join(append(errs, p.Validate()...)...)
}

// acceptedFormat returns JSON for clients that name it first, else YAML.
func acceptedFormat(accept string) bootstrap.Format {
	for entry := range strings.SplitSeq(accept, ",") {
		mediaType, _, err := mime.ParseMediaType(entry)
		switch {
		case err != nil:
		case mediaType == runtime.ContentTypeJSON:
			return bootstrap.JSON
		case slices.Contains([]string{runtime.ContentTypeYAML, "application/*", "*/*"}, mediaType):
			return bootstrap.YAML
		}
	}
	return bootstrap.YAML
}
