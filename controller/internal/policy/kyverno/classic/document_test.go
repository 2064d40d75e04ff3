// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"testing"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func newDocument(t *testing.T) *document {
	t.Helper()
	c := compiler(t)
	return &document{query: c.jmespath, settings: c.settings, object: enginetest.Object(t, enginetest.GoodPod)}
}

func wantName(t *testing.T, d *document, want string) {
	t.Helper()
	if got, err := d.Query("request.object.metadata.name"); err != nil || got != want {
		t.Errorf("the name is %v, %v; want %s", got, err, want)
	}
}

// TestDocumentForgetsWhatARuleAdds goes through two rules as the engine does.
func TestDocumentForgetsWhatARuleAdds(t *testing.T) {
	t.Parallel()
	d := newDocument(t)
	before := d.object.DeepCopy()
	for range 2 {
		d.Checkpoint()
		d.Checkpoint()
		wantName(t, d, "good")
		testkit.NoError(t, d.AddContextEntry("request", []byte(`{"object": {"metadata": {"name": "other"}}}`)))
		wantName(t, d, "other")
		// An iteration.
		d.Checkpoint()
		testkit.NoError(t, d.AddElement(map[string]any{"a": "b"}, 0, 0))
		if got, err := d.Query("element.a"); err != nil || got != "b" {
			t.Errorf("the element has %v, %v", got, err)
		}
		d.Reset()
		if got, err := d.Query("element.a"); err == nil && got != nil {
			t.Errorf("after a reset the element has %v", got)
		}
		d.Restore()
		wantName(t, d, "other")
		d.Restore()
		wantName(t, d, "good")
		d.Restore()
	}
	enginetest.WantEqual(t, "object", before, d.object)
}

// TestUnusedDocumentIsNotMade promises that rules without expressions copy nothing.
func TestUnusedDocumentIsNotMade(t *testing.T) {
	t.Parallel()
	d := newDocument(t)
	d.Checkpoint()
	d.Checkpoint()
	testkit.NoError(t, d.AddResource(d.object.Object))
	d.Restore()
	d.Restore()
	if d.Interface != nil {
		t.Error("the document is made")
	}
}
