// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/tools/producers"
)

// Record notes at the end of a test that has not failed what it did with a program, if
// tests are asked to note that.
func Record(t testing.TB, run producers.Run) {
	t.Helper()
	folder := producers.Folder()
	t.Cleanup(func() {
		if folder == "" || t.Failed() {
			return
		}
		run.Way, run.Date = producers.Live, producers.Date{Time: time.Now()}
		if err := producers.Write(folder, run); err != nil {
			t.Error(err)
		}
	})
}

// ModuleVersion is the version of a module that tests are built with.
func ModuleVersion(t testing.TB, module string) string {
	t.Helper()
	dirs := testkit.Must(findFolders(t.Context()))(t)
	return testkit.Must(goList(t.Context(), dirs.here, "-m", "-f", "{{.Version}}", module))(t)
}
