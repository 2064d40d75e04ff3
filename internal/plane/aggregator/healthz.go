// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
)

const healthPath = "/apiservers/healthz"

// Server is what one APIService says about its server.
type Server struct {
	Name         string `json:"name"`
	GroupVersion string `json:"groupVersion"`
	// URL is where the server itself serves the group version, with a certificate for
	// ServerName.
	URL                string       `json:"url,omitempty"`
	ServerName         string       `json:"serverName,omitempty"`
	Service            string       `json:"service,omitempty"`
	Available          bool         `json:"available"`
	Reason             string       `json:"reason"`
	Message            string       `json:"message"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
	Local              bool         `json:"local"`
	// OpenAPI is what became of the documents of a server that is not local: empty before they were read,
	// OpenAPIRead, or an error.
	OpenAPI string `json:"openAPI,omitempty"`
}

const (
	// NotChecked is the reason of a server that has not been asked yet.
	NotChecked = "NotChecked"
	// OpenAPIRead says that the endpoint has the documents of a server, or that the server has none.
	OpenAPIRead = "Read"
)

func healthOf(service *apiregistration.APIService) Server {
	h := Server{Name: service.Name, Local: service.Spec.Service == nil}
	if !h.Local {
		h.Service = service.Spec.Service.Namespace + "/" + service.Spec.Service.Name
	}
	condition := helper.GetAPIServiceConditionByType(service, apiregistration.Available)
	if condition == nil {
		// What this process serves is there before its APIService says so.
		h.Available, h.Reason, h.Message = h.Local, NotChecked, "it has not been checked yet"
		return h
	}
	h.Available = h.Local || condition.Status == apiregistration.ConditionTrue
	h.Reason, h.Message, h.LastTransitionTime = condition.Reason, condition.Message, &condition.LastTransitionTime
	return h
}

// serveHealth serves the health of all APIServices, or of that which the path names.
func (a *Aggregator) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		writeError(w, r, apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "apiservers"}, r.Method))
		return
	}
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, healthPath), "/")
	list := a.serversNamed(name)
	if name != "" && len(list) == 0 {
		writeError(w, r, apierrors.NewNotFound(apiregistration.Resource("apiservices"), name))
		return
	}
	code := http.StatusOK
	if slices.ContainsFunc(list, func(s Server) bool { return !s.Available }) {
		code = http.StatusServiceUnavailable
	}
	writeServers(w, r, code, list, healthText(list, code == http.StatusOK))
}

// serversNamed returns the servers of all APIServices by name, or that of one.
func (a *Aggregator) serversNamed(name string) []Server {
	list := []Server{} // Never null in JSON.
	for _, service := range a.registry.all() {
		if name == "" || name == service.Name {
			s := healthOf(service)
			a.locate(&s, service)
			s.OpenAPI = a.documents.outcome(s.Name)
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(x, y Server) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// writeServers answers with a text, or with the list in JSON for who prefers that.
func writeServers(w http.ResponseWriter, r *http.Request, code int, list []Server, text string) {
	contentType, body := "text/plain; charset=utf-8", text
	if r.URL.Query().Get("format") == "json" || strings.Contains(r.Header.Get("Accept"), "application/json") {
		data, err := json.Marshal(list)
		if err != nil {
			writeError(w, r, apierrors.NewInternalError(err))
			return
		}
		contentType, body = "application/json", string(data)
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	fmt.Fprint(w, body)
}

func healthText(list []Server, ok bool) string {
	var text strings.Builder
	for _, h := range list {
		if h.Available {
			fmt.Fprintf(&text, "[+]%s ok\n", h.Name)
		} else {
			fmt.Fprintf(&text, "[-]%s failed: %s: %s\n", h.Name, h.Reason, h.Message)
		}
	}
	if ok {
		text.WriteString("healthz check passed\n")
	} else {
		text.WriteString("healthz check failed\n")
	}
	return text.String()
}
