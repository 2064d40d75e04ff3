// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1beta1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/apihelpers"

	"github.com/docket-project/docket/internal/reports/document"
)

// formKey marks contexts of requests for lists with the document.Form of the answer.
type formKey struct{}

const (
	acceptJSON = "application/json"
	// acceptJSONOnly means the same to the library's handlers of resources, which allow its parameter. To the code that
	// writes errors it is an unknown media type.
	acceptJSONOnly = acceptJSON + ";sv=v1"
)

// shapedRequest rewrites a request for a list as a Table or a PartialObjectMetadataList, so that to the library's
// handlers it is a request for a list as JSON, and what List returns is the answer. If the library has to answer, the
// request is returned unchanged.
func (r *REST) shapedRequest(request *http.Request, target schema.GroupVersionKind, serializer runtime.NegotiatedSerializer) *http.Request {
	form := r.formOf(request, target)
	if form == nil {
		return request
	}
	// The library writes what it converts with other serializers, which may choose another media type.
	if again, ok := plainJSON(request, apihelpers.GetMetaInternalVersionCodecs(), anyForm{}); !ok || again == nil || *again != target {
		return request
	}
	accept := acceptJSON
	if _, _, err := negotiation.NegotiateOutputMediaType(request, serializer, negotiation.DefaultEndpointRestrictions); err != nil {
		accept = acceptJSONOnly
	} else if _, ok := plainJSON(request, serializer, negotiation.DefaultEndpointRestrictions); !ok {
		return request // Errors have another media type.
	}
	shaped := request.WithContext(context.WithValue(request.Context(), formKey{}, form))
	shaped.Header = request.Header.Clone()
	shaped.Header.Set("Accept", accept)
	return shaped
}

// formOf returns the form in which a list is served, or nil if the library has to say what is wrong with that.
func (r *REST) formOf(request *http.Request, target schema.GroupVersionKind) document.Form {
	version := target.GroupVersion()
	if version != metav1.SchemeGroupVersion && version != metav1beta1.SchemeGroupVersion {
		return nil
	}
	switch target.Kind {
	case "PartialObjectMetadataList":
		return metadataForm{r.kind.document, version}
	case "Table":
		options := &metav1.TableOptions{}
		err := metainternalversionscheme.ParameterCodec.DecodeParameters(request.URL.Query(), metav1.SchemeGroupVersion, options)
		if err != nil || len(validation.ValidateTableOptions(options)) > 0 {
			return nil
		}
		return tableForm{metadataForm{r.kind.document, version}, request.Context(), r.table, options}
	}
	return nil
}

// metadataForm is the form of a PartialObjectMetadataList.
type metadataForm struct {
	kind    *document.Kind
	version schema.GroupVersion
}

func (f metadataForm) typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: f.version.String()}
}

// shownMeta is the part of a list's metadata that the library copies into a table.
func shownMeta(meta metav1.ListMeta) metav1.ListMeta {
	return metav1.ListMeta{ResourceVersion: meta.ResourceVersion, Continue: meta.Continue, RemainingItemCount: meta.RemainingItemCount}
}

// Empty implements document.Form.
func (f metadataForm) Empty(meta metav1.ListMeta) ([]byte, error) {
	return json.Marshal(metav1.PartialObjectMetadataList{TypeMeta: f.typeMeta("PartialObjectMetadataList"), ListMeta: shownMeta(meta)})
}

// Item implements document.Form.
func (f metadataForm) Item(served []byte) ([]byte, error) {
	metadata, err := f.kind.ReadMetadata(served)
	if err != nil {
		return nil, err
	}
	return f.item(metadata), nil
}

func (f metadataForm) item(metadata []byte) []byte {
	return slices.Concat([]byte(`{"kind":"PartialObjectMetadata","apiVersion":"`), []byte(f.version.String()), []byte(`","metadata":`), metadata, []byte("}"))
}

// tableForm is the form of a Table.
type tableForm struct {
	metadataForm

	ctx     context.Context //nolint:containedctx // That of the request, which the form belongs to.
	table   *table
	options *metav1.TableOptions
}

// Empty implements document.Form.
func (f tableForm) Empty(meta metav1.ListMeta) ([]byte, error) {
	table, err := f.table.empty(f.ctx, f.options)
	if err != nil {
		return nil, err
	}
	table.Rows = []metav1.TableRow{}
	table.TypeMeta, table.ListMeta = f.typeMeta("Table"), shownMeta(meta)
	return json.Marshal(table)
}

// Item implements document.Form.
func (f tableForm) Item(served []byte) ([]byte, error) {
	read, err := f.kind.ReadBriefly(served, f.table.keep)
	if err != nil {
		return nil, err
	}
	cells, err := f.table.cells(f.ctx, read)
	if err != nil {
		return nil, err
	}
	shown, err := json.Marshal(cells)
	if err != nil {
		return nil, err
	}
	object, err := f.object(served, read.Metadata)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(`{"cells":`), shown, []byte(`,"object":`), object, []byte("}")), nil
}

// object returns the object in a row: all of the report, its metadata or nothing, by the rules of the library.
func (f tableForm) object(served, metadata []byte) ([]byte, error) {
	ends := false
	if bytes.Contains(metadata, []byte(metav1.InitialEventsAnnotationKey)) {
		read := &metav1.PartialObjectMetadata{}
		err := json.Unmarshal(metadata, &read.ObjectMeta)
		if err != nil {
			return nil, err
		}
		if ends, err = storage.HasInitialEventsEndBookmarkAnnotation(read); err != nil {
			return nil, err
		}
	}
	switch {
	case f.options.IncludeObject == metav1.IncludeObject:
		var escaped bytes.Buffer
		json.HTMLEscape(&escaped, served)
		return escaped.Bytes(), nil
	case f.options.IncludeObject == metav1.IncludeNone && !ends:
		return []byte("null"), nil
	}
	return f.item(metadata), nil
}
