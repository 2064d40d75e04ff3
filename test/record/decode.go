// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

const protobufType = "application/vnd.kubernetes.protobuf"

// decodeBody returns a body as JSON. Of Protobuf it knows what servers without Protobuf for their own
// kinds answer: metadata, Table, Status, and discovery.
func decodeBody(contentType string, data []byte) (any, error) {
	if len(data) == 0 {
		return nil, nil // There is no body.
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("Content-Type %q: %w", contentType, err)
	}
	switch {
	case mediaType == protobufType:
		return decodeProtobuf(data)
	case mediaType == "application/json" || strings.HasSuffix(mediaType, "+json"):
		return decodeJSON(data)
	case mediaType == "text/plain" || strings.HasSuffix(mediaType, "yaml"):
		if body, err := decodeJSON(data); err == nil {
			return body, nil
		}
		return string(data), nil
	}
	return nil, fmt.Errorf("a body of Content-Type %q can't be recorded", contentType)
}

func decodeJSON(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var body any
	if err := decoder.Decode(&body); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("body: there is more than one JSON value")
	}
	return body, nil
}

func decodeProtobuf(data []byte) (any, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		return nil, err
	}
	object, _, err := protobuf.NewSerializer(scheme, scheme).Decode(data, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decode a Protobuf body: %w", err)
	}
	asJSON, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return decodeJSON(asJSON)
}

// events reads the events of a watch. Bookmarks that come at times of their own are left out; the one
// that ends the initial events is not.
type events struct{ next func() (any, error) }

func newEvents(contentType string, stream io.Reader) (*events, error) {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("Content-Type %q: %w", contentType, err)
	}
	switch mediaType {
	case "application/json":
		decoder := json.NewDecoder(stream)
		decoder.UseNumber()
		return &events{func() (event any, err error) { return event, decoder.Decode(&event) }}, nil
	case protobufType:
		return &events{func() (any, error) { return protobufEvent(stream) }}, nil
	}
	return nil, fmt.Errorf("a watch of Content-Type %q can't be read", contentType)
}

// protobufEvent reads an event: its length, and that many bytes.
func protobufEvent(stream io.Reader) (any, error) {
	var size uint32
	if err := binary.Read(stream, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	if size > maxBody {
		return nil, fmt.Errorf("an event of %d bytes is too long", size)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(stream, data); err != nil {
		return nil, err
	}
	var event metav1.WatchEvent
	if err := event.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("decode a Protobuf event: %w", err)
	}
	object, err := decodeProtobuf(event.Object.Raw)
	return map[string]any{"type": event.Type, "object": object}, err
}

// Next returns the next event. The end of the stream, also in the middle of an event, is io.EOF.
func (e *events) Next() (any, error) {
	for {
		event, err := e.next()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, io.EOF
		case err != nil:
			return nil, err
		case !passing(event):
			return event, nil
		}
	}
}

// passing is a bookmark that says no more than that time has passed.
func passing(event any) bool {
	return text(event, "type") == "BOOKMARK" &&
		text(event, "object", "metadata", "annotations", metav1.InitialEventsAnnotationKey) != "true"
}

// text returns a string in a JSON value, "" if there is none.
func text(value any, path ...string) string {
	for _, key := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		value = fields[key]
	}
	found, _ := value.(string)
	return found
}
