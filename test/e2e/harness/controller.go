// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// ControllerBinary returns the path of docket-controller.
func ControllerBinary(t testing.TB) string {
	t.Helper()
	return testenv.Program(t, "docket-controller")
}

// PolicyCRDs returns the folder with the definitions of the kinds of policies.
func PolicyCRDs(t testing.TB) string {
	t.Helper()
	dirs := testkit.Must(findFolders(t.Context()))(t)
	return filepath.Join(dirs.root, "deploy", "controller", "crds")
}

// Controller is a `docket-controller run`.
type Controller struct {
	process process
	url     string
	client  *http.Client
}

// NewController prepares a controller of the cluster that a kubeconfig points to; it does not
// run yet, and ends with the test.
func NewController(t testing.TB, kubeconfig string, arguments ...string) *Controller {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	c := &Controller{
		url:    "http://" + address,
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second},
		process: process{path: ControllerBinary(t), arguments: append([]string{
			"run", "--kubeconfig", kubeconfig, "--metrics-bind-address", address, "--authorize-metrics=false",
		}, arguments...)},
	}
	t.Cleanup(func() {
		if err := c.process.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		c.process.log(t)
	})
	return c
}

// RunController is NewController and Start.
func RunController(t testing.TB, kubeconfig string, arguments ...string) *Controller {
	t.Helper()
	c := NewController(t, kubeconfig, arguments...)
	c.Start(t)
	return c
}

// Start starts the controller, again if need be, and returns when it is ready and, if it leads, its first scan is
// complete.
func (c *Controller) Start(t testing.TB, more ...string) {
	t.Helper()
	c.process.arguments = append(c.process.arguments, more...) // The last value of a flag counts.
	testkit.NoError(t, c.process.start(t.Context(), func(ctx context.Context, _ *output) bool {
		status, _, err := c.get(ctx, "/readyz/scan", "")
		return err == nil && status == http.StatusOK
	}))
}

// Probe returns what the controller answers to a probe, such as /readyz; 0 if it does not answer.
func (c *Controller) Probe(t testing.TB, path string) (status int, text string) {
	t.Helper()
	status, text, err := c.get(t.Context(), path, "")
	if err != nil {
		return 0, err.Error()
	}
	return status, text
}

// Alive reports whether the controller was started and has not ended by itself.
func (c *Controller) Alive() bool { return c.process.alive() }

// SetEnvironment sets variables, as NAME=VALUE, from the next start on.
func (c *Controller) SetEnvironment(values ...string) { c.process.env = values }

// Launch starts the controller and returns when its process is there, long before it is ready.
func (c *Controller) Launch(t testing.TB) {
	t.Helper()
	testkit.NoError(t, c.process.start(t.Context(), func(context.Context, *output) bool { return true }))
}

// TryMetrics is Metrics for a controller that may not answer yet.
func (c *Controller) TryMetrics(t testing.TB) (text string, ok bool) {
	t.Helper()
	status, text, err := c.get(t.Context(), "/metrics", "")
	return text, err == nil && status == http.StatusOK
}

// GuardMetrics has the controller serve metrics as it does by default, from its next start on: by HTTPS
// with a certificate that nobody knows, and to those who may.
func (c *Controller) GuardMetrics() {
	c.process.arguments = append(c.process.arguments, "--authorize-metrics=true")
	c.url = "https://" + strings.TrimPrefix(c.url, "http://")
	c.client = &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // See above.
		Timeout:   10 * time.Second,
	}
}

// Stop ends the controller in order.
func (c *Controller) Stop(t testing.TB) {
	t.Helper()
	if err := c.process.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// Kill ends the controller with SIGKILL.
func (c *Controller) Kill(t testing.TB) {
	t.Helper()
	testkit.NoError(t, c.process.end(syscall.SIGKILL))
}

// PID is the process number, for its memory.
func (c *Controller) PID() int { return c.process.pid() }

// Log is what the controller wrote last.
func (c *Controller) Log() string { return c.process.output.text() }

// Metric returns the sum of all series of a metric whose labels have the given values, and 0
// if there is none.
func (c *Controller) Metric(t testing.TB, name string, labels map[string]string) float64 {
	t.Helper()
	_, text := c.Metrics(t, "")
	return SumMetric(t, text, name, labels)
}

// Metrics returns what /metrics answers to who comes with a token, or without one if it is empty.
func (c *Controller) Metrics(t testing.TB, token string) (status int, text string) {
	t.Helper()
	return testkit.Must2(c.get(t.Context(), "/metrics", token))(t)
}

// get asks with a token, or without one if it is empty.
func (c *Controller) get(ctx context.Context, path, token string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	return answer.StatusCode, string(body), errors.Join(err, answer.Body.Close())
}

// SumMetric returns the sum of all series of a metric whose labels have the given values, and 0
// if there is none. text is an answer of /metrics; of histograms the observations are counted.
func SumMetric(t testing.TB, text, name string, labels map[string]string) float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families := testkit.Must(parser.TextToMetricFamilies(strings.NewReader(text)))(t)
	var sum float64
series:
	for _, metric := range families[name].GetMetric() {
		has := map[string]string{}
		for _, label := range metric.GetLabel() {
			has[label.GetName()] = label.GetValue()
		}
		for key, value := range labels {
			if has[key] != value {
				continue series
			}
		}
		sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
	}
	return sum
}
