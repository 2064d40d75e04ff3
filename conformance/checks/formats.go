// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaFormats = "Tables and metadata"

	aboutTables   = "https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables"
	aboutMetadata = "https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches"
	// aboutBoth has what the other pages leave out: includeObject, and how it is in watches.
	aboutBoth = "https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/2334-graduate-server-side-get-and-partial-objects-to-GA"
)

var formats = []runner.Check{
	{
		ID: "metadata-object", Area: areaFormats, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "An object as PartialObjectMetadata has all of its metadata and nothing else.",
		Detail:    "Gets an object both ways. Of its annotations, only the one it was created with is compared. Servers that don't support this must return 406.",
		Reference: aboutMetadata,
		Run: func(p *runner.Probe) {
			made := p.Create(annotated(p))
			for try := 1; ; try++ {
				value, response := getMetadata(p, asMetadata, "PartialObjectMetadata", p.Path(made.GetName()))
				if found := besidesMetadata(value); found != "" {
					response.FailBecause(found, "metadata only")
				}
				if sameMetadata(value, made.Object) {
					return
				}
				partial := &unstructured.Unstructured{Object: value}
				if partial.GetResourceVersion() == made.GetResourceVersion() || try == metadataTries {
					response.FailBecause("the metadata differs", "the metadata of the object: %v", made.Object["metadata"])
				}
				made = p.Read(made.GetName())
			}
		},
	},
	{
		ID: "metadata-list", Area: areaFormats, PerResource: true, Verbs: []string{"get", "list"},
		Rule:      "A list as PartialObjectMetadataList has the metadata of the objects and nothing else.",
		Detail:    "Lists two objects; those that are there where clients don't create any. Servers that don't support this must return 406.",
		Reference: aboutMetadata,
		Run: func(p *runner.Probe) {
			missing := map[string]*unstructured.Unstructured{}
			if p.Resource.ShownOnly() {
				names := some(p, 1)
				missing[names[0]] = p.Read(names[0])
			} else {
				for range 2 {
					made := p.Create(annotated(p))
					missing[made.GetName()] = made
				}
			}
			value, response := getMetadata(p, asMetadataList, "PartialObjectMetadataList", p.Collection(), ours(p)...)
			items, _ := value["items"].([]any)
			for _, item := range items {
				fields, _ := item.(map[string]any)
				if found := besidesMetadata(fields); found != "" {
					response.FailBecause(found, "items with metadata only")
				}
				partial := &unstructured.Unstructured{Object: fields}
				made := missing[partial.GetName()]
				// Without a resourceVersion nobody can say that it is still the same object: metrics have the time of the request.
				unchanged := made != nil && made.GetResourceVersion() != "" && partial.GetResourceVersion() == made.GetResourceVersion()
				if unchanged && !sameMetadata(fields, made.Object) {
					response.FailBecause("the metadata of "+made.GetName()+" is another", "the metadata of the object: %v", made.Object["metadata"])
				}
				delete(missing, partial.GetName())
			}
			for name := range missing {
				response.FailBecause("there is no item for "+name, "an item for each object")
			}
		},
	},
	{
		ID: "metadata-watch", Area: areaFormats, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
		Rule:      "The events of a watch as PartialObjectMetadata have the metadata of the objects and nothing else.",
		Detail:    "Servers that don't support this must return 406.",
		Reference: aboutMetadata,
		Run: steadily(func(p *runner.Probe) {
			stream := watchAs(p, asMetadata)
			defer stream.Close()
			states, end := livesAndEnds(p)
			for {
				event := nextAbout(stream, "events about two objects, up to that of "+end.GetName(), states[0].GetName(), end.GetName())
				object := event.Object
				found := besidesMetadata(object.Object)
				if object.GetKind() != "PartialObjectMetadata" || object.GetAPIVersion() != metav1.SchemeGroupVersion.String() {
					found = fmt.Sprintf("an event has apiVersion %q and kind %q", object.GetAPIVersion(), object.GetKind())
				}
				if found != "" {
					stream.Fail(found, "events with PartialObjectMetadata of meta.k8s.io/v1, which has metadata only")
				}
				if object.GetName() == end.GetName() {
					return
				}
			}
		}),
	},
}

const (
	asMetadata     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	asMetadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	// metadataTries is how often an object is read again because somebody has changed it meanwhile.
	metadataTries = 5
)

// annotated returns a new object whose metadata is not only labels.
func annotated(p *runner.Probe) *unstructured.Unstructured {
	object := p.New()
	addNotes(object, stepLabel, "first")
	return object
}

// getMetadata sends a GET for metadata. The check is left out if the server refuses that.
func getMetadata(p *runner.Probe, accept, kind, path string, query ...string) (map[string]any, *runner.Response) {
	response := p.Send(runner.Get(path, query...).With("Accept", accept))
	if response.Code == http.StatusNotAcceptable {
		runner.Leave("the server does not answer with metadata only: it answers 406")
	}
	response.WantSuccess("a %s, or 406 Not Acceptable from a server that has none", kind)
	value := response.JSON()
	if value["kind"] != kind || value["apiVersion"] != metav1.SchemeGroupVersion.String() {
		response.Fail("the kind %s of meta.k8s.io/v1", kind)
	}
	return value, response
}

// besidesMetadata says what an object has that is not metadata.
func besidesMetadata(value map[string]any) string {
	for name := range value {
		if name != "kind" && name != "apiVersion" && name != "metadata" {
			return fmt.Sprintf("there is %s, too", name)
		}
	}
	return ""
}

// sameMetadata compares the metadata of two objects. Of their annotations, it looks at that of annotated
// only: there are servers that add others when they convert an object, which metadata is not.
func sameMetadata(a, b map[string]any) bool {
	fieldsA, okA := a["metadata"].(map[string]any)
	fieldsB, okB := b["metadata"].(map[string]any)
	if !okA || !okB {
		return false
	}
	fieldsA, fieldsB = maps.Clone(fieldsA), maps.Clone(fieldsB)
	for _, fields := range []map[string]any{fieldsA, fieldsB} {
		value, _, _ := unstructured.NestedFieldNoCopy(fields, "annotations", stepLabel)
		fields["annotations"] = value
	}
	return reflect.DeepEqual(fieldsA, fieldsB)
}
