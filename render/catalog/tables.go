package catalog

import (
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed data
var data embed.FS

// tables are the decoded data files.
type tables struct {
	Accelerators  []Accelerator `json:"accelerators"`
	GPUNodePool   PoolChart     `json:"gpuNodePool"`
	GPUOperator   OperatorChart `json:"gpuOperator"`
	AgentPlatform sliceTable    `json:"agentPlatform"`
	Runtime       RuntimeImages `json:"runtime"`
	ModelManager  modelManager  `json:"modelManager"`
	ReservedNames []string      `json:"reservedNames"`

	prices  map[place]listPrice
	regions map[string]string
}

// place is an instance type in a region.
type place struct{ region, instanceType string }

// listPrice is one row of the price table.
type listPrice struct {
	usd  float64
	asOf string
}

// loaded are the tables that the binary carries. A file that does not decode cannot reach a release: the package's test
// asks decode for its error.
var loaded = sync.OnceValue(func() *tables {
	decoded, _ := decode()
	return decoded
})

func decode() (*tables, error) {
	t := &tables{prices: map[place]listPrice{}, regions: map[string]string{}}
	return t, errors.Join(t.decodeYAML("data/accelerators.yaml"), t.decodeYAML("data/charts.yaml"), t.decodePrices("data/prices.csv"))
}

func (t *tables) decodeYAML(name string) error {
	text, err := data.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%s: reading: %w", name, err)
	}
	if err := yaml.UnmarshalStrict(text, t); err != nil {
		return fmt.Errorf("%s: decoding: %w", name, err)
	}
	return nil
}

// priceColumns is the header of prices.csv.
var priceColumns = []string{"kind", "region", "aws_location", "item", "unit", "usd", "as_of"}

// onDemand is the kind of the rows that price an instance type by the hour.
const onDemand = "ec2_on_demand_linux"

func (t *tables) decodePrices(name string) error {
	text, err := data.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%s: reading: %w", name, err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: decoding: %w", name, err)
	}
	if len(rows) == 0 || !slices.Equal(rows[0], priceColumns) {
		return fmt.Errorf("%s: decoding: the header is not %s", name, strings.Join(priceColumns, ","))
	}
	for i, row := range rows[1:] {
		usd, err := strconv.ParseFloat(row[5], 64)
		if err != nil {
			return fmt.Errorf("%s: line %d: decoding the price: %w", name, i+2, err)
		}
		if row[0] == onDemand {
			t.prices[place{row[1], row[3]}] = listPrice{usd: usd, asOf: row[6]}
			t.regions[row[1]] = row[2]
		}
	}
	return nil
}
