// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bufio"
	"bytes"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	kserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/docket-project/docket/internal/reports/schema"
)

// writable is an *Object or a *List of any kind.
type writable interface {
	runtime.Object
	write(w io.Writer) error
}

// NewSerializer returns what reads and writes reports in requests and answers as
// kube-apiserver does for custom resources, and everything else as standard does. A
// report that is read is of the version that is served: nothing converts it.
//
// It offers all media types of standard but protobuf.
//
// Why not all: reports have no protobuf form. If it were offered, a client that
// accepts protobuf before JSON would get 406 instead of JSON.
func NewSerializer(standard runtime.NegotiatedSerializer) runtime.NegotiatedSerializer {
	return negotiated{standard, mediaTypes(standard)}
}

type negotiated struct {
	runtime.NegotiatedSerializer

	// infos are made once: every request and every answer asks for them.
	infos []runtime.SerializerInfo
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (n negotiated) SupportedMediaTypes() []runtime.SerializerInfo { return n.infos }

func mediaTypes(standard runtime.NegotiatedSerializer) []runtime.SerializerInfo {
	infos := slices.DeleteFunc(slices.Clone(standard.SupportedMediaTypes()),
		func(info runtime.SerializerInfo) bool { return info.MediaType == runtime.ContentTypeProtobuf })
	for i := range infos {
		info := &infos[i]
		yaml := info.MediaType == runtime.ContentTypeYAML
		info.Serializer = newSerializer(info.Serializer, yaml, false)
		info.StrictSerializer = newSerializer(info.StrictSerializer, yaml, true)
		if info.PrettySerializer != nil {
			pretty := newSerializer(info.PrettySerializer, yaml, false)
			pretty.plain = info.PrettySerializer
			info.PrettySerializer = pretty
		}
		if info.StreamSerializer != nil {
			stream := *info.StreamSerializer
			stream.Serializer = newSerializer(stream.Serializer, yaml, false)
			info.StreamSerializer = &stream
		}
	}
	return infos
}

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (n negotiated) EncoderForVersion(encoder runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	own, ok := encoder.(*serializer)
	if !ok {
		return n.NegotiatedSerializer.EncoderForVersion(encoder, gv)
	}
	return &serializer{Serializer: codecOf(n.NegotiatedSerializer.EncoderForVersion(own.Serializer, gv), nil), plain: own.plain}
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (n negotiated) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	own, ok := decoder.(*serializer)
	if !ok {
		return n.NegotiatedSerializer.DecoderToVersion(decoder, gv)
	}
	return &serializer{Serializer: codecOf(nil, n.NegotiatedSerializer.DecoderToVersion(own.Serializer, gv)), tree: own.tree, yaml: own.yaml, strict: own.strict}
}

func codecOf(encoder runtime.Encoder, decoder runtime.Decoder) runtime.Serializer {
	return struct {
		runtime.Encoder
		runtime.Decoder
	}{encoder, decoder}
}

// serializer reads and writes reports, and leaves everything else to the one in it.
type serializer struct {
	runtime.Serializer

	// tree decodes to trees of Go values, as for custom resources.
	tree runtime.Decoder
	// plain writes objects that are not written as they are stored: as YAML, or indented.
	plain        runtime.Encoder
	yaml, strict bool
}

func newSerializer(standard runtime.Serializer, yaml, strict bool) *serializer {
	tree := kserializer.NewSerializerWithOptions(kserializer.DefaultMetaFactory,
		unstructuredscheme.NewUnstructuredCreator(), unstructuredscheme.NewUnstructuredObjectTyper(),
		kserializer.SerializerOptions{Yaml: yaml, Strict: strict})
	s := &serializer{Serializer: standard, tree: tree, yaml: yaml, strict: strict}
	if yaml {
		s.plain = standard
	}
	return s
}

// Decode implements runtime.Decoder.
func (s *serializer) Decode(data []byte, defaults *gvk.GroupVersionKind, into runtime.Object) (runtime.Object, *gvk.GroupVersionKind, error) {
	report, ok := into.(*Object)
	if !ok {
		return s.Serializer.Decode(data, defaults, into)
	}
	if !s.yaml && report.normalize(data) {
		kind := report.GetObjectKind().GroupVersionKind()
		return report, &kind, nil
	}
	return s.decodeTree(data, defaults, report)
}

// decodeTree reads a report as kube-apiserver reads a custom resource.
func (s *serializer) decodeTree(data []byte, defaults *gvk.GroupVersionKind, into *Object) (runtime.Object, *gvk.GroupVersionKind, error) {
	tree := &unstructured.Unstructured{}
	_, actual, err := s.tree.Decode(data, defaults, tree)
	var problems []error
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		problems = strict.Errors()
	} else if err != nil {
		return nil, actual, err
	}
	unknown, err := into.coerce(tree.Object, schema.Options{WantUnknown: s.strict})
	if err != nil {
		return nil, actual, err
	}
	if !s.strict {
		return into, actual, nil
	}
	for _, path := range unknown {
		problems = append(problems, unknownField(path))
	}
	if len(problems) > 0 {
		return into, actual, runtime.NewStrictDecodingError(problems)
	}
	return into, actual, nil
}

// Encode implements runtime.Encoder.
func (s *serializer) Encode(obj runtime.Object, w io.Writer) error {
	object, ok := obj.(writable)
	switch {
	case !ok:
		return s.Serializer.Encode(obj, w)
	case s.plain != nil:
		return s.plain.Encode(obj, w)
	}
	return object.write(w)
}

// write writes the report as JSON.
func (o *Object) write(w io.Writer) error {
	data, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// MarshalJSON implements json.Marshaler.
func (l *List) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	err := l.write(&out)
	return out.Bytes(), err
}

// write writes the list as JSON, item by item.
func (l *List) write(w io.Writer) error {
	head := List{ListMeta: l.ListMeta, of: l.of}
	head.state()
	empty, err := marshalEmptyList(head.TypeMeta, head.ListMeta)
	if err != nil {
		return err
	}
	out := newListWriter(w, empty, listBuffer)
	var item []byte
	for i := range l.Items {
		if item, err = l.Items[i].stated().appendJSON(item[:0]); err != nil {
			return err
		}
		out.item(item)
	}
	return out.end()
}

// listBuffer is how much of a list is gathered before it is written.
const listBuffer = 64 << 10

// listWriter writes a list as JSON. It keeps its first error.
type listWriter struct {
	out   *bufio.Writer
	items int
	// none replaces items if the list has no items.
	none []byte
	err  error
}

// newListWriter begins a list, which is given without items: they come last in it. What follows is about size bytes
// long: most lists by a selector are short, and a whole buffer would take longer to make than they to write.
func newListWriter(w io.Writer, empty []byte, size int) *listWriter {
	l := &listWriter{out: bufio.NewWriterSize(w, min(size, listBuffer))}
	items := bytes.LastIndexByte(empty, ':') + 1
	l.none = bytes.TrimSuffix(empty[items:], []byte("}"))
	// The first byte goes alone: that is how the library knows that more will come than a first write shows, when it
	// decides whether to compress.
	if _, l.err = w.Write(empty[:1]); l.err == nil {
		l.write(empty[1:items])
	}
	return l
}

func (l *listWriter) item(data []byte) {
	if l.items == 0 {
		l.write([]byte("["))
	} else {
		l.write([]byte(","))
	}
	l.items++
	l.write(data)
}

func (l *listWriter) write(data []byte) {
	if l.err == nil {
		_, l.err = l.out.Write(data)
	}
}

func (l *listWriter) end() error {
	if l.items == 0 {
		l.write(l.none)
	} else {
		l.write([]byte("]"))
	}
	l.write([]byte("}\n"))
	if l.err != nil {
		return l.err
	}
	return l.out.Flush()
}
