// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"runtime"
	"strings"

	"github.com/go-logr/logr"

	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
)

// ownPrefix is the prefix of this repository's functions.
const ownPrefix = "github.com/docket-project/docket/"

// OnlyOwn leaves out of the log what libraries tell of their work, but not their warnings and
// errors: the log of a server that does nothing special is short. -v=1 and other formats show all.
// It is called when the log is set up.
func OnlyOwn(config *logsapi.LoggingConfiguration) {
	if config.Format != logsapi.DefaultLogFormat || config.Verbosity > 0 {
		return
	}
	sink := klog.Background().GetSink()
	writer, ok := sink.(interface{ WriteKlogBuffer(data []byte) })
	if !ok {
		return // Not the text format's.
	}
	klog.SetLoggerWithOptions(logr.New(newSink(sink)), klog.ContextualLogger(true), klog.WriteKlogBuffer(func(data []byte) {
		// Lines without structure. We write none at the level of information.
		if len(data) == 0 || data[0] != 'I' {
			writer.WriteKlogBuffer(data)
		}
	}))
}

// ownSink passes on errors, and the information of our own packages.
type ownSink struct{ logr.LogSink }

func newSink(next logr.LogSink) ownSink {
	if deep, ok := next.(logr.CallDepthLogSink); ok {
		next = deep.WithCallDepth(1)
	}
	return ownSink{next}
}

// Info implements logr.LogSink.
func (s ownSink) Info(level int, msg string, values ...any) {
	if isOwn() {
		s.LogSink.Info(level, msg, values...)
	}
}

// Error implements logr.LogSink, so that the depth of calls is that of Info.
func (s ownSink) Error(err error, msg string, values ...any) { s.LogSink.Error(err, msg, values...) }

// WithValues implements logr.LogSink.
func (s ownSink) WithValues(values ...any) logr.LogSink {
	return ownSink{s.LogSink.WithValues(values...)}
}

// WithName implements logr.LogSink.
func (s ownSink) WithName(name string) logr.LogSink { return ownSink{s.LogSink.WithName(name)} }

// WithCallDepth implements logr.CallDepthLogSink.
func (s ownSink) WithCallDepth(depth int) logr.LogSink {
	if deep, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return ownSink{deep.WithCallDepth(depth)}
	}
	return s
}

// isOwn reports whether who logs is in one of our packages.
func isOwn() bool {
	const most, self = 16, 3 // Without Callers, isOwn and Info.
	var callers [most]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(self, callers[:])])
	for {
		frame, more := frames.Next()
		if !isLogging(frame.Function) {
			return strings.HasPrefix(frame.Function, ownPrefix)
		}
		if !more {
			return false
		}
	}
}

func isLogging(function string) bool {
	for _, prefix := range []string{"k8s.io/klog/v2.", "github.com/go-logr/logr.", ownPrefix + "internal/kit/logs.ownSink"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
