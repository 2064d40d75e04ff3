// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"k8s.io/apimachinery/pkg/runtime"
	kserializer "k8s.io/apimachinery/pkg/runtime/serializer"

	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestListIsCutOff: a list whose rest can't be read ends without its end, and not well.
func TestListIsCutOff(t *testing.T) {
	t.Parallel()
	list := NewEncodedList(wgpolicy.SchemeGroupVersion.WithKind("PolicyReportList"))
	fail := true
	list.SetItems([][]byte{[]byte(`{"first":1}`)}, func(yield func([][]byte, error) bool) {
		if !yield([][]byte{[]byte(`{"second":2}`), []byte(`{"third":3}`)}, nil) || !fail {
			return
		}
		yield(nil, errors.New("the database is away"))
	})
	encoder := NewSerializer(kserializer.NewCodecFactory(runtime.NewScheme())).SupportedMediaTypes()[0].Serializer
	var out bytes.Buffer
	func() {
		defer func() {
			if got := recover(); got != http.ErrAbortHandler { //nolint:errorlint // It is no error that is wrapped.
				t.Errorf("ended with %v, want that the handler aborts", got)
			}
		}()
		t.Error(encoder.Encode(list, &out))
	}()
	if json.Valid(out.Bytes()) {
		t.Errorf("a client can't see that there should be more: %s", out.Bytes())
	}
	fail = false
	out.Reset()
	testkit.NoError(t, encoder.Encode(list, &out))
	const want = `{"kind":"PolicyReportList","apiVersion":"wgpolicyk8s.io/v1alpha2","metadata":{"continue":"","resourceVersion":""},` +
		`"items":[{"first":1},{"second":2},{"third":3}]}` + "\n"
	if out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}

// FuzzAddVersion: a resourceVersion is added where nothing else changes, or not at all.
func FuzzAddVersion(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"a","kind":"b","metadata":{"name":"c","uid":"\"d","creationTimestamp":null},"results":[]}`), uint64(7))
	f.Add([]byte(`{"apiVersion":"a","kind":"b","metadata":{"generation":1}}`), uint64(0))
	f.Add([]byte(`{"apiVersion":"a","kind":"b","metadata":{"name":"creationTimestamp"}}`), uint64(1))
	f.Add([]byte(`{"apiVersion":"a","kind":"b","metadata":{"resourceVersion":"8","creationTimestamp":null}}`), uint64(1))
	adder, ok := NewCodec(policyReports()).(interface {
		AddVersion(stored []byte, version uint64) ([]byte, bool)
	})
	if !ok {
		f.Fatal("the codec adds no version")
	}
	f.Fuzz(func(t *testing.T, stored []byte, version uint64) {
		out, ok := adder.AddVersion(bytes.Clone(stored), version)
		var before, after map[string]any
		if !ok || jsonv2.Unmarshal(stored, &before) != nil { // It refuses names that are there twice.
			return
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%s became %s: %v", stored, out, err)
		}
		meta, _ := after["metadata"].(map[string]any)
		if meta["resourceVersion"] == nil {
			t.Fatalf("%s became %s", stored, out)
		}
		delete(meta, "resourceVersion")
		want := testkit.Must(json.Marshal(before))(t)
		if got, err := json.Marshal(after); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s became %s, %v", want, got, err)
		}
	})
}
