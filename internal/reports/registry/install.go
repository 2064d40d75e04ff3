// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Install serves groups that [APIGroups] returned. config is the server's configuration.
func Install(server *genericapiserver.GenericAPIServer, config *genericapiserver.Config, groups []*genericapiserver.APIGroupInfo) error {
	if err := server.InstallAPIGroups(groups...); err != nil {
		return fmt.Errorf("install the API groups: %w", err)
	}
	if err := convertTypes(server, config, groups); err != nil {
		return fmt.Errorf("install the API groups: %w", err)
	}
	served := map[string]*genericapiserver.APIGroupInfo{}
	for _, group := range groups {
		served[group.PrioritizedVersions[0].Group] = group
	}
	server.Handler.GoRestfulContainer.Filter(func(r *restful.Request, w *restful.Response, chain *restful.FilterChain) {
		info, ok := request.RequestInfoFrom(r.Request.Context())
		group := served[groupOf(info)]
		switch {
		case !ok || group == nil:
		case isStrategicMerge(r.Request):
			refusePatch(group, info, w.ResponseWriter, r.Request)
			return
		default:
			r.Request = encodedRequest(r.Request, info, group)
		}
		chain.ProcessFilter(r, w)
	})
	return nil
}

func groupOf(info *request.RequestInfo) string {
	if info == nil || !info.IsResourceRequest {
		return ""
	}
	return info.APIGroup
}

// isStrategicMerge reports whether a request is a strategic merge patch, which custom
// resources don't have: its merge keys are in Go types, and reports have none.
func isStrategicMerge(r *http.Request) bool {
	if r.Method != http.MethodPatch {
		return false
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && mediaType == string(types.StrategicMergePatchType)
}

// refusePatch answers as kube-apiserver does for custom resources. Clients such as
// kubectl then send a merge patch.
func refusePatch(group *genericapiserver.APIGroupInfo, info *request.RequestInfo, w http.ResponseWriter, r *http.Request) {
	err := negotiation.NewUnsupportedMediaTypeError([]string{
		string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType),
	})
	version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	responsewriters.ErrorNegotiated(err, group.NegotiatedSerializer, version, w, r)
}

// DescribePatches makes OpenAPI documents say which types of patches there are: kubectl reads
// them there, and sends a strategic merge patch if it may.
func DescribePatches(v2 *common.Config, v3 *common.OpenAPIV3Config) {
	v2.PostProcessSpec = func(document *spec.Swagger) (*spec.Swagger, error) {
		for path := range document.Paths.Paths {
			if item := document.Paths.Paths[path]; item.Patch != nil && isReportPath(path) {
				item.Patch.Consumes = slices.DeleteFunc(slices.Clone(item.Patch.Consumes),
					func(mediaType string) bool { return mediaType == string(types.StrategicMergePatchType) })
			}
		}
		return document, nil
	}
	v3.PostProcessSpec = func(document *spec3.OpenAPI) (*spec3.OpenAPI, error) {
		for path, item := range document.Paths.Paths {
			if item.Patch != nil && item.Patch.RequestBody != nil && isReportPath(path) {
				delete(item.Patch.RequestBody.Content, string(types.StrategicMergePatchType))
			}
		}
		return document, nil
	}
}

// isReportPath reports whether a path of the API belongs to a kind of reports.
func isReportPath(path string) bool {
	group, _, _ := strings.Cut(strings.TrimPrefix(path, "/apis/"), "/")
	return slices.Contains(Groups(), group)
}
