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
	// volumes are the figures of a gp3 volume.
	volumes map[place]listPrice
}

// place is an instance type, or a figure of a volume, in a region.
type place struct{ region, item string }

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
	t := &tables{prices: map[place]listPrice{}, regions: map[string]string{}, volumes: map[place]listPrice{}}
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

// The kinds of rows.
const (
	// onDemand prices an instance type by the hour.
	onDemand = "ec2_on_demand_linux"
	// volume prices a gp3 volume by the month, in three figures.
	volume = "ebs_gp3"
)

func (t *tables) decodePrices(name string) error {
	text, err := data.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%s: reading: %w", name, err)
	}
	return t.readPrices(name, text)
}

func (t *tables) readPrices(name string, text []byte) error {
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
		t.regions[row[1]] = row[2]
		switch at := (place{row[1], row[3]}); row[0] {
		case onDemand:
			t.prices[at] = listPrice{usd: usd, asOf: row[6]}
		case volume:
			t.volumes[at] = listPrice{usd: usd, asOf: row[6]}
		default:
			return fmt.Errorf("%s: line %d: decoding: %q is no kind of price", name, i+2, row[0])
		}
	}
	return nil
}
