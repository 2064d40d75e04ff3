// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaBodies = "Bodies and media types"

	mediaTypesDoc = "https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources"

	// hugeBytes is more than servers take: Kubernetes takes 3 MiB, and 256 KiB of annotations.
	hugeBytes = 17 << 20
)

func bodies() []runner.Check {
	return slices.Concat([]runner.Check{bodyMalformed(), bodyEmpty(), bodyWrongKind(), bodyTooLarge(), contentTypeUnknown()}, bodiesTypesRules())
}

func bodyMalformed() runner.Check {
	return runner.Check{
		ID: "body-malformed", Area: areaBodies,
		Rule:        "Malformed JSON gets 400 and a Status with reason BadRequest.",
		Detail:      "Posts half an object.",
		Reference:   codesDoc,
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			data := runner.Must(json.Marshal(p.New()))
			p.Send(runner.Post(p.Collection(), data[:len(data)/2])).WantStatus(metav1.StatusReasonBadRequest, http.StatusBadRequest)
		},
	}
}

func bodyEmpty() runner.Check {
	return runner.Check{
		ID: "body-empty", Area: areaBodies,
		Rule:        "A POST without a body gets 400 and a Status.",
		Detail:      "422 is accepted, too; 5xx would make clients retry.",
		Reference:   codesDoc,
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			p.Send(runner.Post(p.Collection(), []byte{})).WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
		},
	}
}

func bodyWrongKind() runner.Check {
	return runner.Check{
		ID: "body-wrong-kind", Area: areaBodies,
		Rule:        "An object whose kind or group is not the resource's gets 400 and a Status, and is not stored.",
		Detail:      "422 is accepted, too. Objects without kind or apiVersion are not tried: some servers accept them.",
		Reference:   codesDoc,
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			kind, group := p.New(), p.New()
			kind.SetKind("Not" + p.Resource.Kind)
			group.SetAPIVersion("other.conformance.docket.dev/" + p.GroupVersion.Version)
			for _, object := range []interface {
				json.Marshaler
				GetName() string
			}{kind, group} {
				response := p.Send(runner.Post(p.Collection(), object)).WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
				wantNotStored(p, response, object.GetName())
			}
		},
	}
}

func bodyTooLarge() runner.Check {
	return runner.Check{
		ID: "body-too-large", Area: areaBodies,
		Rule:        "A body that is far too large gets 413 and a Status, and is not stored.",
		Detail:      fmt.Sprintf("Posts an object with an annotation of %d MiB. Servers that accept bodies of this size must refuse the annotation with 422 or 400; others may close the connection.", hugeBytes>>20),
		Reference:   "https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#StatusReason",
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			object := p.New()
			addNotes(object, noteOne, strings.Repeat("x", hugeBytes))
			response := sendRefusable(p, runner.Post(p.Collection(), object))
			if response == nil {
				if p.Exists(object.GetName()) {
					runner.Stop(&runner.Failure{Expected: "that nothing is stored of a body that is too large", Found: "the connection broke, and there is an object " + object.GetName()})
				}
				return
			}
			response.WantStatus("", http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusBadRequest)
			wantNotStored(p, response, object.GetName())
		},
	}
}

func contentTypeUnknown() runner.Check {
	return runner.Check{
		ID: "content-type-unknown", Area: areaBodies,
		Rule:        "A body of an unknown media type gets 415 and a Status with reason UnsupportedMediaType, and is not stored.",
		Detail:      "Posts an object as text/plain.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			object := p.New()
			response := p.Send(runner.Post(p.Collection(), object).With("Content-Type", "text/plain")).WantStatus(metav1.StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType)
			wantNotStored(p, response, object.GetName())
		},
	}
}
