// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// ServersPath lists every group version with the address of its own server. Discovery has
// room for one address a group, that of the preferred version.
const ServersPath = "/apiservers"

// serveServers serves the list, with 200 however the servers are.
func (a *Aggregator) serveServers(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		writeError(w, r, apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "apiservers"}, r.Method))
		return
	}
	list := a.serversNamed("")
	writeServers(w, r, http.StatusOK, list, serversText(list))
}

func serversText(list []Server) string {
	var text strings.Builder
	for i := range list {
		fmt.Fprintf(&text, "%s %s\n", list[i].GroupVersion, list[i].URL)
	}
	return text.String()
}

// locate adds where a group version is served, if that is known.
func (a *Aggregator) locate(s *Server, service *apiregistration.APIService) {
	gv := schema.GroupVersion{Group: service.Spec.Group, Version: service.Spec.Version}
	s.GroupVersion = gv.String()
	address := a.legacy.self
	if service.Spec.Service != nil {
		address, s.ServerName = a.registry.addressOf(service.Name), serverNameOf(service)
	}
	if address == "" {
		return
	}
	path := "/apis/" + s.GroupVersion
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	s.URL = (&url.URL{Scheme: "https", Host: address, Path: path}).String()
}

// serverNameOf returns the name that the certificate of an extension server has to be for.
func serverNameOf(service *apiregistration.APIService) string {
	if name := service.Annotations[ServerNameAnnotation]; name != "" {
		return name
	}
	return service.Spec.Service.Name + "." + service.Spec.Service.Namespace + ".svc"
}
