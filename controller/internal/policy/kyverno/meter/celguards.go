// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	celgzip "github.com/kyverno/sdk/extensions/cel/libs/gzip"
	"github.com/kyverno/sdk/extensions/cel/libs/hash"
	"github.com/kyverno/sdk/extensions/cel/libs/json"
	"github.com/kyverno/sdk/extensions/cel/libs/random"
	"github.com/kyverno/sdk/extensions/cel/libs/transform"
	"github.com/kyverno/sdk/extensions/cel/libs/x509"
	"github.com/kyverno/sdk/extensions/cel/libs/yaml"
	celfunctions "k8s.io/apiserver/pkg/cel/library"
)

const (
	// ParsedPerByte is what reading a byte of JSON or YAML takes: most of all in lists of small maps.
	ParsedPerByte = 16
	// WrittenPerByte is what writing a value as JSON takes, copies on the way included.
	WrittenPerByte = 3
	// gzipBytes is what gzip takes to compress anything.
	gzipBytes = 1 << 20
	// gunzipBytes is what gzip takes to read anything.
	gunzipBytes = 64 << 10
)

// guard bounds a function whose result can be much more than its arguments.
type guard struct {
	// estimate returns what the function makes of its arguments, at most.
	estimate func(args []ref.Val) int64
	// replace takes the place of the function and counts for itself.
	replace func(m *Meter, args []ref.Val) ref.Val
	// overloads are the function's own, by their names and by that of the function.
	overloads map[string]functions.FunctionOp
}

// newGuards returns the guards of functions by name. What they call is made of the same libraries
// as in the environments of policies.
func newGuards() (map[string]guard, error) {
	guards := map[string]guard{
		"join": {estimate: bytesOfJoined}, "format": {estimate: bytesOfFormatted}, "replace": {estimate: bytesOfReplaced}, "split": {estimate: bytesOfSplit},
		"lists.range": {estimate: bytesOfRanged}, "flatten": {estimate: bytesOfCopied}, "distinct": {estimate: bytesOfCopied}, "sort": {estimate: bytesOfCopied},
		"reverse": {estimate: bytesOfCopied}, "slice": {estimate: bytesOfCopied},
		"matches": {estimate: bytesOfMatched}, "find": {estimate: bytesOfMatched}, "findAll": {estimate: bytesOfMatched},
		"regex.extract": {estimate: bytesOfMatched}, "regex.extractAll": {estimate: bytesOfMatched}, "regex.replace": {estimate: bytesOfRegexReplaced},
		"unmarshal": {estimate: bytesOfParsed}, "marshal": {estimate: bytesOfWritten}, "json.encode": {estimate: bytesOfWritten},
		"parse": {estimate: bytesOfParsedYAML}, "x509.decode": {estimate: bytesOfParsed},
		"gzip.compress":   {estimate: func(args []ref.Val) int64 { return gzipBytes + 2*deepBytes(args[0]) }},
		"gzip.decompress": {replace: decompress},
		"random":          {estimate: bytesOfRandomized}, "random.random": {estimate: bytesOfRandomized},
		"listObjToMap": {estimate: bytesOfCopied}, "transform.listObjToMap": {estimate: bytesOfCopied},
	}
	env, err := cel.NewEnv(
		cel.OptionalTypes(), ext.Strings(ext.StringsVersion(2)), ext.Lists(ext.ListsVersion(3)), ext.Regex(ext.RegexVersion(1)),
		ext.Encoders(), celfunctions.Regex(), celfunctions.Lists(), hash.Lib(hash.Latest()), json.Lib(&json.JsonImpl{}, json.Latest()),
		yaml.Lib(&yaml.YamlImpl{}, yaml.Latest()), random.Lib(random.Latest()), x509.Lib(x509.Latest()),
		transform.Lib(transform.Latest()), celgzip.Lib(celgzip.Latest()),
	)
	if err != nil {
		return nil, err
	}
	known := env.Functions()
	for name, one := range guards {
		declared, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("there is no function %s any more", name)
		}
		bindings, err := declared.Bindings()
		if err != nil {
			return nil, err
		}
		one.overloads = map[string]functions.FunctionOp{}
		for _, binding := range bindings {
			one.overloads[binding.Operator] = operation(binding)
		}
		guards[name] = one
	}
	return guards, nil
}

// operation is a binding for any number of arguments.
func operation(binding *functions.Overload) functions.FunctionOp {
	switch {
	case binding.Unary != nil:
		return func(args ...ref.Val) ref.Val { return binding.Unary(args[0]) }
	case binding.Binary != nil:
		return func(args ...ref.Val) ref.Val { return binding.Binary(args[0], args[1]) }
	default:
		return binding.Function
	}
}

// lookup returns what the guarded function does for a call; nil if it is of another library. Some
// functions are one for all overloads.
func (g guard) lookup(function, overload string) functions.FunctionOp {
	if overload == "" || len(g.overloads) == 1 {
		overload = function
	}
	return g.overloads[overload]
}

// deepBytes returns what a value takes if nothing in it is shared. It stops once that is
// more than an evaluation may make.
func deepBytes(value ref.Val) int64 {
	left := int64(maxEvaluationBytes)
	measureValue(value, &left)
	return maxEvaluationBytes - left
}

func measureValue(value ref.Val, left *int64) {
	*left -= ValueBytes
	switch typed := value.(type) {
	case types.String:
		*left -= int64(len(typed))
	case types.Bytes:
		*left -= int64(len(typed))
	case *types.Optional:
		if typed.HasValue() {
			measureValue(typed.GetValue(), left)
		}
	case traits.Mapper:
		for it := typed.Iterator(); *left > 0 && it.HasNext() == types.True; {
			key := it.Next()
			*left -= EntryBytes
			measureValue(key, left)
			measureValue(typed.Get(key), left)
		}
	case traits.Lister:
		for it := typed.Iterator(); *left > 0 && it.HasNext() == types.True; {
			measureValue(it.Next(), left)
		}
	}
}

// text returns the length of a text.
func text(value ref.Val) int64 {
	switch typed := value.(type) {
	case types.String:
		return int64(len(typed))
	case types.Bytes:
		return int64(len(typed))
	}
	return 0
}

func bytesOfWritten(args []ref.Val) int64 { return Times(deepBytes(args[len(args)-1]), WrittenPerByte) }

func bytesOfParsed(args []ref.Val) int64 { return Times(text(args[len(args)-1]), ParsedPerByte) }

func bytesOfParsedYAML(args []ref.Val) int64 {
	content, _ := args[len(args)-1].(types.String)
	return YAMLBytes(string(content))
}

func bytesOfJoined(args []ref.Val) int64 {
	out := deepBytes(args[0])
	if list, ok := args[0].(traits.Lister); ok && len(args) > 1 && out < maxEvaluationBytes {
		size, _ := list.Size().(types.Int)
		out += Times(int64(size), text(args[1]))
	}
	return out
}

func bytesOfReplaced(args []ref.Val) int64 {
	in, ok := args[0].(types.String)
	old, also := args[1].(types.String)
	if !ok || !also {
		return 0
	}
	count := int64(strings.Count(string(in), string(old)))
	if len(args) > 3 {
		if limit, _ := args[3].(types.Int); limit >= 0 {
			count = min(count, int64(limit))
		}
	}
	return text(in) + Times(count, text(args[2]))
}

func bytesOfSplit(args []ref.Val) int64 {
	in, ok := args[0].(types.String)
	separator, also := args[1].(types.String)
	if !ok || !also {
		return 0
	}
	return Times(int64(strings.Count(string(in), string(separator)))+1, 2*ValueBytes)
}

func bytesOfRanged(args []ref.Val) int64 {
	count, _ := args[0].(types.Int)
	return Times(int64(count), ValueBytes)
}

// bytesOfCopied is for functions that make a list or a map of the elements of their arguments.
func bytesOfCopied(args []ref.Val) int64 {
	var out int64
	for _, arg := range args {
		out += deepBytes(arg)
	}
	return out
}

func bytesOfMatched(args []ref.Val) int64 {
	pattern, _ := args[1].(types.String)
	return ExpressionBytes(string(pattern)) + Times(text(args[0]), 2*ValueBytes)
}

func bytesOfRegexReplaced(args []ref.Val) int64 {
	pattern, _ := args[1].(types.String)
	return ExpressionBytes(string(pattern)) + text(args[0]) + Times(text(args[0])+1, text(args[2])+1)
}

func bytesOfRandomized(args []ref.Val) int64 {
	if len(args) == 0 {
		return ValueBytes
	}
	pattern, _ := args[0].(types.String)
	return RandomBytes(string(pattern))
}

// decompress is that of gzip's library, with an end.
func decompress(m *Meter, args []ref.Val) ref.Val {
	const name = "gzip.decompress"
	data, ok := args[0].(types.Bytes)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	charge(m, gunzipBytes, name)
	size, err := gunzip(io.Discard, data, m.left())
	if err != nil {
		return types.WrapErr(err)
	}
	charge(m, size, name)
	var out strings.Builder
	out.Grow(int(size))
	if _, err := gunzip(&out, data, size); err != nil {
		return types.WrapErr(err)
	}
	return types.String(out.String())
}

// gunzip writes what has been compressed, and one byte more than the limit if there is more.
func gunzip(into io.Writer, data []byte, limit int64) (int64, error) {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(into, io.LimitReader(reader, limit+1))
	return size, errors.Join(err, reader.Close())
}
