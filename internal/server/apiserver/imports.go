// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/imports"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// importer serves what `docket migrate` asks for. Who may post to a path below
// /import is decided like for any other path that is no resource.
type importer struct {
	server *registry.Server
	// holds and reports are nil when the database knows neither.
	holds   *holds
	reports *store.Store
}

// installImports adds the paths of imports to a server.
func installImports(paths *mux.PathRecorderMux, server *registry.Server, held *holds, reports *store.Store) {
	i := &importer{server: server, holds: held, reports: reports}
	paths.HandleFunc(imports.Path, handlePost(i.importBatch))
	paths.HandleFunc(imports.HoldPath, handlePost(i.hold))
	paths.HandleFunc(imports.FloorPath, handlePost(i.floor))
	paths.HandleFunc(imports.DefinitionsPath, handlePost(i.definitions))
}

// storageOf returns the storage of what is served, each kind in the version that is stored.
func storageOf(served []*registry.REST) imports.Storage {
	found := imports.Storage{}
	for _, r := range served {
		if r.Kind().Stored() {
			found[r.DefaultQualifiedResource] = imports.Stored{Kind: Movable(r.Kind()), Store: r.Store}
		}
	}
	return found
}

// MovableDefinition returns what there is to know of the kind of a definition to move its objects.
func MovableDefinition(object map[string]any) (movable imports.Kind, err error) {
	definition := &crd{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, definition); err != nil {
		return movable, err
	}
	kinds, err := registry.FromDefinition(definition)
	if err != nil {
		return movable, err
	}
	versions := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		versions = append(versions, kind.GroupVersionKind.Version)
		if kind.Stored() {
			movable = Movable(kind)
		}
	}
	if movable.Decode == nil {
		return movable, errors.New("spec.versions: the one with storage: true is not served, and objects are moved in it: set served: true")
	}
	movable.Versions = versions
	return movable, nil
}

// Movable returns what there is to know of a kind to move its objects.
func Movable(kind registry.Kind) imports.Kind {
	return imports.Kind{
		GroupVersionKind: kind.GroupVersionKind, Resource: kind.Resource, Namespaced: kind.Namespaced,
		Versions: []string{kind.GroupVersionKind.Version},
		Decode: func(data []byte) (imports.Object, []string, error) {
			object, unknown, err := kind.Decode(data)
			if err != nil {
				return nil, nil, fmt.Errorf("the object is not a %s: %w", kind.GroupVersionKind.Kind, err)
			}
			return object, unknown, nil
		},
	}
}

// handlePost reads a request as JSON and writes the answer as JSON.
func handlePost[Request, Response any](answer func(*http.Request, Request) (Response, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request Request
		var response Response
		err := decodeBody(w, r, &request)
		if err == nil {
			response, err = answer(r, request)
		}
		if err != nil {
			writeError(w, err)
			return
		}
		writeJSON(w, http.StatusOK, response)
	}
}

func decodeBody(w http.ResponseWriter, r *http.Request, request any) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
			Message: r.URL.Path + " is for `docket migrate`, which posts to it",
		}}
	}
	err := json.NewDecoder(r.Body).Decode(request)
	var refused *apierrors.StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the body is not what %s takes: %v", r.URL.Path, err))
}

func (i *importer) importBatch(r *http.Request, request imports.Request) (imports.Response, error) {
	storage := storageOf(i.server.Storages()) // As it is now: kinds may change.
	return imports.New(storage, storage.Kinds(), imports.Exact, clock.RealClock{}).Import(r.Context(), request), nil
}

func (i *importer) definitions(_ *http.Request, request imports.DefinitionsRequest) (response imports.DefinitionsResponse, err error) {
	for _, kind := range i.server.Kinds() {
		if !kind.Stored() || !slices.Contains(request.Groups, kind.GroupVersionKind.Group) {
			continue
		}
		data, err := json.Marshal(kind.CRD())
		if err != nil {
			return response, err
		}
		response.Definitions = append(response.Definitions, data)
	}
	return response, nil
}

func (i *importer) hold(r *http.Request, request imports.HoldRequest) (imports.HoldRequest, error) {
	if i.holds == nil {
		return request, notSupported("requests can't be held back")
	}
	if !request.Hold.Valid() {
		return request, apierrors.NewBadRequest(fmt.Sprintf("hold: %q is not known", request.Hold))
	}
	// Holds of groups that are no longer served can be ended.
	if err := registry.ValidateChoice(request.Groups, i.holds.groups()); err != nil && request.Hold != imports.NoHold {
		return request, apierrors.NewBadRequest("groups: " + err.Error())
	}
	return request, i.holds.set(r.Context(), request)
}

func (i *importer) floor(r *http.Request, request imports.FloorRequest) (imports.FloorResponse, error) {
	if i.reports == nil {
		return imports.FloorResponse{}, notSupported("resource versions can't be moved")
	}
	const most = 1 << 62
	if request.Above < 0 || request.Above > most {
		return imports.FloorResponse{}, apierrors.NewBadRequest(fmt.Sprintf("above: %d is no resource version", request.Above))
	}
	state, raised, err := i.reports.RaiseFloor(r.Context(), engine.Revision(request.Above), request.Force)
	return imports.FloorResponse{Floor: int64(state.Compacted), Revision: int64(state.Revision), Raised: raised}, err
}

// notSupported is the answer of databases without a feature.
func notSupported(what string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: metav1.StatusReasonUnknown,
		Message: what + " in this database: it is for PostgreSQL and SQLite",
	}}
}
