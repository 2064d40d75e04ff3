// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

// interruptEvery is the number of steps of a comprehension between two looks at the clock.
const interruptEvery = 100

// meterLibrary is a CEL library without functions, which counts what programs make.
type meterLibrary struct{ guards map[string]guard }

func (l meterLibrary) CompileOptions() []cel.EnvOption { return nil }

func (l meterLibrary) ProgramOptions() []cel.ProgramOption {
	return []cel.ProgramOption{cel.CustomDecoratorV2(l.decorate), cel.InterruptCheckFrequency(interruptEvery)}
}

// Programs adds the library to the environments of k8s.io/apiserver from which Kyverno makes all others: those of CEL
// policies have version 1.0, of those that mutate 2.0, those of CEL rules the default version. It has to come before
// the first policy is compiled.
func Programs() error {
	guards, err := newGuards()
	if err != nil {
		return fmt.Errorf("cannot bound the functions of CEL: %w", err)
	}
	library := cel.Lib(meterLibrary{guards})
	for _, v := range []*version.Version{version.MajorMinor(1, 0), version.MajorMinor(2, 0), environment.DefaultCompatibilityVersion()} {
		set := environment.MustBaseEnvSet(v)
		for _, env := range []*cel.Env{set.StoredExpressionsEnv(), set.NewExpressionsEnv()} {
			if _, err := library(env); err != nil {
				return fmt.Errorf("cannot bound the memory of CEL %s: %w", v, err)
			}
		}
	}
	return nil
}

// decorate replaces the steps of a program that make data.
func (l meterLibrary) decorate(step interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch step := step.(type) {
	case interpreter.InterpretableCall:
		name := step.Function()
		if known, ok := l.guards[name]; ok {
			if apply := known.lookup(name, step.OverloadID()); apply != nil {
				return guarded(step, known, apply), nil
			}
		}
		if asks[strings.ToLower(name)] && len(step.Args()) > 0 {
			step.Args()[0] = receiver(step.Args()[0]) // The call's own.
		}
		if strings.EqualFold(name, "get") {
			return meteredIndex(step), nil
		}
		if makesNothing[name] {
			return step, nil
		}
		if strings.EqualFold(name, "post") {
			args := step.Args() // The call's own.
			for i := range args {
				args[i] = writtenArgument(args[i])
			}
		}
		return metered(step), nil
	case interpreter.InterpretableConstructor:
		for _, value := range step.InitVals() {
			if _, constant := value.(interpreter.InterpretableConst); !constant {
				return meteredConstructor{step}, nil
			}
		}
	}
	return step, nil
}

// makesNothing has functions that return one of their arguments, a part of one, or a number.
var makesNothing = map[string]bool{
	operators.Index: true, operators.OptIndex: true, operators.OptSelect: true, operators.Conditional: true,
	operators.In: true, operators.OldIn: true, operators.Equals: true, operators.NotEquals: true,
	operators.Less: true, operators.LessEquals: true, operators.Greater: true, operators.GreaterEquals: true,
	operators.LogicalNot: true, operators.NotStrictlyFalse: true, "__not_strictly_false__": true,
	"size": true, "dyn": true, "type": true, "value": true, "hasValue": true, "orValue": true, "or": true,
	"__orValueCompat__": true, "optional.of": true, "optional.ofNonZeroValue": true, "first": true, "last": true,
	"startsWith": true, "endsWith": true, "contains": true, "indexOf": true, "lastIndexOf": true,
	"substring": true, "charAt": true, "trim": true, "min": true, "max": true, "sum": true, "List": true, "list": true,
}

// call is a step that calls a function, with another way to run it.
type call struct {
	interpreter.InterpretableCall
	run func(*interpreter.ExecutionFrame) ref.Val
}

func (c call) Exec(frame *interpreter.ExecutionFrame) ref.Val { return c.run(frame) }
func (c call) Eval(vars interpreter.Activation) ref.Val       { return c.run(interpreter.AsFrame(vars)) }

// metered counts what a function has made. It is for functions whose result is not much more than their arguments; the
// others have guards.
func metered(step interpreter.InterpretableCall) call {
	return call{step, func(frame *interpreter.ExecutionFrame) ref.Val {
		out := step.Exec(frame)
		if bytes := made(step.Function(), out); bytes > 0 {
			charge(meterOf(frame), bytes, step.Function())
		}
		return out
	}}
}

// argument is an argument of a call, with another way to compute it.
type argument struct {
	interpreter.InterpretableV2
	run func(*interpreter.ExecutionFrame) ref.Val
}

func (a argument) Exec(frame *interpreter.ExecutionFrame) ref.Val { return a.run(frame) }
func (a argument) Eval(vars interpreter.Activation) ref.Val       { return a.run(interpreter.AsFrame(vars)) }

// asks has functions of Kyverno's libraries that ask somebody else, in small letters.
var asks = map[string]bool{"list": true, "get": true, "post": true, "getmetadata": true}

// During is what a library asks with: a value that can be bound to the context of an evaluation, which CEL's functions
// do not get.
type During interface{ During(ctx context.Context) any }

// receiver binds the argument of a function of Kyverno's libraries that has what they ask with.
func receiver(step interpreter.InterpretableV2) argument {
	return argument{step, func(frame *interpreter.ExecutionFrame) ref.Val {
		value := step.Exec(frame)
		if !strings.HasSuffix(value.Type().TypeName(), ".Context") { // Of another library's function with that name.
			return value
		}
		return boundValue{value, frame}
	}}
}

// boundValue is the value of such an argument.
type boundValue struct {
	ref.Val
	frame *interpreter.ExecutionFrame
}

// ConvertToNative binds the one field of Kyverno's types, if it is ours.
func (v boundValue) ConvertToNative(kind reflect.Type) (any, error) {
	out, err := v.Val.ConvertToNative(kind)
	if err != nil || kind.Kind() != reflect.Struct || kind.NumField() != 1 {
		return out, err
	}
	bound := reflect.New(kind).Elem()
	bound.Set(reflect.ValueOf(out))
	ours, ok := bound.Field(0).Interface().(During)
	if ctx := meterOf(v.frame).during; ok && ctx != nil {
		bound.Field(0).Set(reflect.ValueOf(ours.During(ctx)))
	}
	return bound.Interface(), nil
}

// meteredConstructor counts a list or a map that an expression writes.
type meteredConstructor struct {
	interpreter.InterpretableConstructor
}

func (c meteredConstructor) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	charge(meterOf(frame), EntryBytes+ValueBytes*int64(len(c.InitVals())), "a list or a map")
	return c.InterpretableConstructor.Exec(frame)
}

func (c meteredConstructor) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// guarded calls a function that looks at the arguments first.
func guarded(step interpreter.InterpretableCall, known guard, apply functions.FunctionOp) call {
	return call{step, func(frame *interpreter.ExecutionFrame) ref.Val {
		args := step.Args()
		values := make([]ref.Val, len(args))
		for i, arg := range args {
			values[i] = arg.Exec(frame)
			if types.IsUnknownOrError(values[i]) {
				return values[i]
			}
		}
		m := meterOf(frame)
		if known.replace != nil {
			return types.LabelErrNode(step.ID(), known.replace(m, values))
		}
		charge(m, known.estimate(values), step.Function())
		return types.LabelErrNode(step.ID(), apply(values...))
	}}
}

// writtenArgument counts an argument that a function of another library writes as JSON.
func writtenArgument(step interpreter.InterpretableV2) argument {
	return argument{step, func(frame *interpreter.ExecutionFrame) ref.Val {
		value := step.Exec(frame)
		charge(meterOf(frame), bytesOfWritten([]ref.Val{value}), "post")
		return value
	}}
}

// charge ends the program if the meter has too little left. An error as a value would not do: CEL's
// logic continues after some.
func charge(m *Meter, bytes int64, who string) {
	if err := m.Take(bytes, strings.Trim(who, "_@")); err != nil {
		panic(interpreter.EvalCancelledError{Message: err.Error(), Cause: interpreter.CostLimitExceeded})
	}
}

// made returns the bytes of what a function has made.
func made(function string, out ref.Val) int64 {
	switch typed := out.(type) {
	case types.String:
		return int64(len(typed)) + ValueBytes
	case types.Bytes:
		return int64(len(typed)) + ValueBytes
	case traits.Lister:
		if function == operators.Add { // It refers to both.
			return EntryBytes
		}
		size, _ := typed.Size().(types.Int)
		return Times(int64(size), ValueBytes)
	case traits.Mapper:
		return EntryBytes
	}
	return 0
}

// meterValue carries a meter through the one door that a program has to its context: functions that
// others compute while it waits.
type meterValue struct {
	ref.Val
	meter *Meter
}

const meterCall = "meter"

// meterOf returns the meter in the context with which a program is evaluated.
func meterOf(frame *interpreter.ExecutionFrame) *Meter {
	for {
		switch found := frame.ComputeResult(0, meterCall, meterCall, carryMeter, nil).(type) {
		case meterValue:
			return found.meter
		case *types.Unknown:
			frame.DispatchPendingAsyncCalls(found.IDs())
			runtime.Gosched()
		case *types.Err:
			if errors.Is(found, context.Canceled) || errors.Is(found, context.DeadlineExceeded) {
				panic(interpreter.EvalCancelledError{Message: found.Error(), Cause: interpreter.ContextCancelled})
			}
			return &Meter{} // The program has no context.
		}
	}
}

func carryMeter(ctx context.Context, _ ...ref.Val) <-chan ref.Val {
	out := make(chan ref.Val, 1)
	out <- meterValue{types.NullValue, meterIn(ctx)}
	return out
}
